// "Look at me": a set of nodes that any thread adds to and a consumer empties. No lock, no allocation.
//
//   producer: write down the work; if (set.add(node)) wake or try to claim;
//   consumer: for (ReadyNode* n = set.take_all(); n;) { ReadyNode& node = *n; n = ReadySet::release(node); do the work
//   }
//
// Whatever a producer wrote before add() (true or false) is seen by the consumer after the release() that follows.
// Claims: add() and empty() are sequentially consistent, so "add, then try the claim" on one side and "give the claim
// up (seq_cst), then look at empty()" on the other cannot both miss each other.
#pragma once

#include <atomic>

namespace railweave {

// Embedded in what becomes ready. REQUIRES: not in a set when it is destroyed.
struct ReadyNode {
  ReadyNode() = default;
  ReadyNode(const ReadyNode&) = delete;
  ReadyNode& operator=(const ReadyNode&) = delete;

  std::atomic<bool> in_set{false};
  ReadyNode* next = nullptr;  // the set's, from add() until release()
};

class ReadySet {
 public:
  // Any thread. True: it was not in, and now is. False: it was in; whoever added it saw or will see to it.
  bool add(ReadyNode& node) {
    return add(node, [] {});
  }
  // The same. `prepare` runs between: the node is this thread's then, and no consumer has it yet.
  template <class Prepare>
  bool add(ReadyNode& node, Prepare&& prepare) {
    if (node.in_set.exchange(true, std::memory_order_acq_rel)) return false;
    prepare();
    ReadyNode* head = newest_.load(std::memory_order_relaxed);
    do {
      node.next = head;
    } while (!newest_.compare_exchange_weak(head, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
    return true;
  }

  // Consumer (of several at once each gets other nodes). Empties the set; the first of a chain in the order of adding,
  // null when there was none. Every node of the chain must be released; until then add() answers false for it.
  ReadyNode* take_all() {
    ReadyNode* node = newest_.exchange(nullptr, std::memory_order_acq_rel);
    ReadyNode* oldest = nullptr;
    while (node) {
      ReadyNode* const older = node->next;
      node->next = oldest;
      oldest = node;
      node = older;
    }
    return oldest;
  }

  // Consumer. Lets `node` be added again, and answers the next of its chain. The work is looked at after this, not
  // before.
  static ReadyNode* release(ReadyNode& node) {
    ReadyNode* const next = node.next;
    // An exchange, not a store: it reads what the last add() wrote, and so sees what that producer did before.
    node.in_set.exchange(false, std::memory_order_acq_rel);
    return next;
  }

  // Any thread.
  bool empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  std::atomic<ReadyNode*> newest_{nullptr};
};

}  // namespace railweave
