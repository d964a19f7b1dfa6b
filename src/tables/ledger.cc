#include "tables/ledger.h"

#include "base/hash_list.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr const char* kLedgerState = "ledger/epochs";

}  // namespace

void Ledger::on_epoch_rows(int, int64_t rows, uint64_t ids) {
  epochs_.push_back({{"rows", rows}, {"ids", hash_list_text({ids})}});
}

void Ledger::save_state(CallbackState& state) const { state.put_text(kLedgerState, epochs_.dump()); }

void Ledger::load_state(const CallbackState& state) {
  epochs_ = nlohmann::ordered_json::parse(state.text(kLedgerState), nullptr, false);
  if (!epochs_.is_array())
    throw FormatError("checkpoint.callback", "the checkpoint's ledger of rows is no list");
}

}  // namespace espalier
