"""Writes the images of images/ and images.npz: their pixels as PIL (13.0) decodes them, by file name, converted where the
name says so ("rgb.jpg:1" is gray); 16-bit images, which PIL does not round, by the formula. And resized.npz: "x" and
jax.image.resize of it (0.10) by "height,width,antialias".

usage: python images.py   (needs numpy, PIL, jax)
"""
import pathlib
import struct
import zlib

import jax
import numpy
from PIL import Image

here = pathlib.Path(__file__).parent
folder = here / "images"
random = numpy.random.default_rng(1)
HEIGHT, WIDTH = 13, 21


def waves(channels, height=HEIGHT, width=WIDTH):
    """A smooth image: JPEG is made for those."""
    y, x, c = numpy.meshgrid(numpy.arange(height), numpy.arange(width), numpy.arange(channels), indexing="ij")
    return (127.5 + 120 * numpy.sin(0.3 * x + 0.2 * y * (c + 1) + c)).astype(numpy.uint8)


def noise(channels, dtype=numpy.uint8):
    return random.integers(0, numpy.iinfo(dtype).max, (HEIGHT, WIDTH, channels), dtype, endpoint=True)


def write_png(name, pixels, interlaced=False, extra=b""):
    """What PIL does not write: interlaced images, 16 bits, gamma."""
    kinds = {1: 0, 2: 4, 3: 2, 4: 6}
    starts = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b""
    for top, left, down, right in starts if interlaced else [(0, 0, 1, 1)]:
        part = pixels[top::down, left::right]
        for row in part if part.shape[1] else []:
            rows += b"\0" + row.astype(row.dtype.newbyteorder(">")).tobytes()

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8 * pixels.itemsize, kinds[pixels.shape[2]],
                         0, 0, interlaced)
    (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(*extra) if extra else b"")
                                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


folder.mkdir(exist_ok=True)
Image.fromarray(noise(1)[..., 0]).save(folder / "gray.png")
Image.fromarray(noise(2), "LA").save(folder / "gray_alpha.png")
Image.fromarray(noise(3)).save(folder / "rgb.png")
Image.fromarray(noise(4)).save(folder / "rgba.png")
Image.fromarray(noise(1)[..., 0] > 127).save(folder / "one_bit.png")
palette = Image.fromarray(waves(3)).quantize(16)
palette.save(folder / "palette.png")
palette.save(folder / "palette_alpha.png", transparency=bytes(range(0, 160, 10)))
write_png("interlaced.png", noise(3), interlaced=True)
write_png("gamma.png", noise(3), extra=(b"gAMA", struct.pack(">I", 100000)))
deep = {"gray_16.png": noise(1, numpy.uint16), "rgba_16.png": noise(4, numpy.uint16)}
for name, pixels in deep.items():
    write_png(name, pixels)

Image.fromarray(waves(3)).save(folder / "rgb.jpg", quality=90)
Image.fromarray(waves(3)).save(folder / "full_chroma.jpg", quality=90, subsampling=0)
Image.fromarray(waves(3)).save(folder / "progressive.jpg", quality=90, progressive=True)
Image.fromarray(waves(1)[..., 0]).save(folder / "gray.jpg", quality=90)
Image.fromarray(waves(4), "CMYK").save(folder / "cmyk.jpg", quality=95)

expected = {}
for path in sorted(folder.iterdir()):
    image = Image.open(path)
    if path.name in deep:
        expected[path.name] = numpy.rint(deep[path.name] / 257).astype(numpy.uint8)
        continue
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("1", "CMYK"):
        image = image.convert({"1": "L", "CMYK": "RGB"}[image.mode])
    pixels = numpy.asarray(image)
    expected[path.name] = pixels if pixels.ndim == 3 else pixels[..., None]
for name in ("rgb.jpg", "rgba.png", "gray.png", "palette_alpha.png", "gray_alpha.png"):
    for channels, mode in (("1", "L"), ("3", "RGB"), ("4", "RGBA")):
        pixels = numpy.asarray(Image.open(folder / name).convert("RGBA").convert(mode))
        expected[f"{name}:{channels}"] = pixels.reshape(HEIGHT, WIDTH, -1)
numpy.savez_compressed(here / "images.npz", **expected)

x = random.uniform(0, 255, (2, 7, 10, 3)).astype(numpy.float32)
resized = {"x": x}
for size in ((7, 10), (14, 20), (5, 4), (3, 17), (1, 1), (20, 3)):
    for antialias in (False, True):
        resized[f"{size[0]},{size[1]},{int(antialias)}"] = numpy.asarray(
            jax.image.resize(x, (2, *size, 3), "linear", antialias=antialias))
numpy.savez_compressed(here / "resized.npz", **resized)
