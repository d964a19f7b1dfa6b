"""Writes keras_folder.npz: what Keras (3.15 on TensorFlow 2.21) reads from a folder of images/.

usage: python keras_folder.py   (needs tensorflow)
"""
import os
import pathlib
import shutil
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy

here = pathlib.Path(__file__).parent
files = {"dogs/b.PNG": "rgb.png", "dogs/a.jpeg": "gray.jpg", "cats/old/far/c.jpg": "rgb.jpg", "cats/z.png": "rgba.png"}
with tempfile.TemporaryDirectory() as root:
    for name, image in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here / "images" / image, path)
    dataset = keras.utils.image_dataset_from_directory(root, image_size=(8, 10), shuffle=False, batch_size=4)
    x, y = next(iter(dataset))
    numpy.savez_compressed(here / "keras_folder.npz", x=x.numpy(), y=y.numpy(),
                           **{name: i for i, name in enumerate(dataset.class_names)})
