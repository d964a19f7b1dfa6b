#include "strategy/membership.h"

#include <utility>

#include "espalier/error.h"

namespace espalier {

Membership::Membership(std::shared_ptr<Communicator> communicator, std::shared_ptr<Worker> worker)
    : communicator_(std::move(communicator)), worker_(std::move(worker)) {}

void Membership::describe(std::map<std::string, std::string> facts) const {
  if (worker_) worker_->describe(std::move(facts));
}

void Membership::count_calls(const std::string& function) const {
  if (worker_) worker_->count_calls(function);
}

void Membership::begin_step(int64_t step) const {
  if (worker_) worker_->begin_step(step);
}

void Membership::failed(const std::exception& error) const {
  if (!communicator_) return;
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (worker_)
    worker_->failed(known ? known->rule() : "", known ? known->message() : error.what());
  else
    communicator_->abort(error.what());
}

std::optional<std::vector<std::string>> Membership::leave_with(const std::string& what) const {
  if (!worker_) return std::nullopt;
  return worker_->leave_with(what);
}

void Membership::left() const {
  if (worker_) worker_->left();
}

std::vector<double> Membership::lateness() const {
  return worker_ && communicator_->world() > 1 ? worker_->lateness() : std::vector<double>();
}

bool Membership::asked_to_go() const { return told_ || (worker_ && worker_->asked_to_go()); }

void Membership::agree_to_go() const {
  goes_ = true;
  if (worker_) worker_->goes();
}

}  // namespace espalier
