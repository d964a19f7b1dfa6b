// A GAN by fit: two models, two optimizers and their steps in turn, on the workers that `espalier launch -n 2
// -- build/release/example_gan CHECKPOINT` starts. Logical shards give it the bits of one, and a run that was
// killed goes on where its checkpoint was saved.
#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

struct Gan : CustomModel {
  Gan() : CustomModel("gan") {}
  Tensor call(const Tensor& noise) override { return generator(noise); }  // what predict() gives

  LossSums train_step(const TrainRows& rows) override {
    const Tensor &real = rows.x[0], &weight = rows.weight;
    const Tensor yes = ones({real.size(0), 1}), no = zeros({real.size(0), 1});
    const Tensor count = strategy::all_reduce({sum(weight)})[0];
    {
      GradientTape tape;
      const Tensor made = generator(random_normal({real.size(0), 4}));
      const Tensor losses = loss.of_rows(yes, critic(real)) + loss.of_rows(no, critic(made));
      const auto weights = critic.trainable_variables();
      const Tensor mean = LossSums::of(losses, weight).sum / count;
      critic_optimizer.apply(strategy::all_reduce(tape.gradient(mean, weights)), weights);
      critic_loss.update({}, losses, weight);
    }
    GradientTape tape;
    const LossSums sums = loss.sums(yes, critic(generator(random_normal({real.size(0), 4}))), weight);
    const auto weights = generator.trainable_variables();
    generator_optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / count, weights)), weights);
    return sums;
  }
  std::vector<Metric> step_metrics() const override { return {critic_loss}; }
  std::vector<Optimizer> step_optimizers() const override { return {critic_optimizer, generator_optimizer}; }

  Sequential generator{Dense({.units = 32, .activation = "relu"}), Dense({.units = 2})};
  Sequential critic{Dense({.units = 32, .activation = "relu"}), Dropout(0.2), Dense({.units = 1})};
  Optimizer critic_optimizer = Adam{.learning_rate = 0.005},
            generator_optimizer = Adam{.learning_rate = 0.005};
  Loss loss = BinaryCrossentropy({.from_logits = true});
  Metric critic_loss = metrics::Mean("critic_loss");
};

int main(int argc, char** argv) {
  const strategy::MultiWorkerMirrored workers({.logical_shards = 4});
  const auto scope = workers.scope();
  set_seed(1);
  const Tensor real = random_normal({1000, 2}, 1, 0) * 0.1 + 2;  // around (2, 2)
  Gan gan;
  gan.compile();
  FitOptions options{.epochs = 10, .batch_size = 50};
  if (argc > 1) options.callbacks = {BackupAndRestore({.path = argv[1], .save_freq = 20})};
  const auto epochs = gan.fit(real, zeros({1000, 1}), options);  // it looks at no labels
  if (workers.told_to_go()) return workers.kPreempted;
  const double middle = mean(gan.predict(random_normal({1000, 4}, 2, 0))).item<float>();
  if (workers.worker() == 0)
    std::printf("critic_loss %.9f, middle %.9f\n", epochs.back().at("critic_loss"), middle);
}
