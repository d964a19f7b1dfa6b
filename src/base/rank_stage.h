// What a thread that runs fit does, for those who wait for its rank: rooms that know nothing of strategies
// say it here.
#pragma once

#include "espalier/communicator.h"

namespace espalier {

class RankStage {
 public:
  // While it lives, what this thread does is told to `communicator`; null: to nobody.
  explicit RankStage(Communicator* communicator) : communicator_(communicator), before_(innermost()) {
    innermost() = this;
  }
  ~RankStage() { innermost() = before_; }
  RankStage(const RankStage&) = delete;
  RankStage& operator=(const RankStage&) = delete;

  // `number` of its kind, as Communicator::stage has it.
  void now(Stage stage, int64_t number) {
    stage_ = stage;
    number_ = number;
    if (communicator_) communicator_->stage(stage, number);
  }

  // While one lives the thread does this; then again what it did before.
  class During {
   public:
    explicit During(Stage stage) : of_(innermost()), before_(of_ ? of_->stage_ : stage) {
      if (of_) of_->now(stage, of_->number_);
    }
    ~During() {
      if (of_) of_->now(before_, of_->number_);
    }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    RankStage* const of_;
    const Stage before_;
  };

 private:
  static RankStage*& innermost() {
    static thread_local RankStage* stage = nullptr;
    return stage;
  }
  Communicator* const communicator_;
  RankStage* const before_;
  Stage stage_ = Stage::kStart;
  int64_t number_ = 0;
};

}  // namespace espalier
