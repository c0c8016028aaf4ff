#include "tests/nccl/entry/fixture.h"

#include "nccl/net/table.h"

namespace railweave::nccl_test {
namespace {

template <int V>
constexpr auto kTable = nccl::make_table<V>();

}  // namespace

std::unique_ptr<Net> linked_net(int version) {
  switch (version) {
    case 6: return any_net::net_over(&kTable<6>, 6);
    case 7: return any_net::net_over(&kTable<7>, 7);
    case 8: return any_net::net_over(&kTable<8>, 8);
    case 9: return any_net::net_over(&kTable<9>, 9);
    case 10: return any_net::net_over(&kTable<10>, 10);
    case 11: return any_net::net_over(&kTable<11>, 11);
    default: return any_net::net_over(&kTable<12>, 12);
  }
}

}  // namespace railweave::nccl_test
