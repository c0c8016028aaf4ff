// ReadySet: the objects that have work. Any thread adds nodes, and a consumer takes all of them out. No lock, no
// allocation.
//
//   producer: record the work; if (set.add(node)) wake the consumer or try to claim;
//   consumer: for (ReadyNode* n = set.take_all(); n;) { ReadyNode& node = *n; n = ReadySet::release(node); do the work
//   }
//
// Memory order: the consumer sees everything that a producer wrote before add() (true or false) after the release()
// that follows.
// Claims: add() and empty() are sequentially consistent. One thread adds and then tries the claim; another gives the
// claim up (seq_cst) and then reads empty(). At least one of the two sees the other.
#pragma once

#include <atomic>

namespace railweave {

// The member of an object that a ReadySet holds. REQUIRES: not in a set at its destruction.
struct ReadyNode {
  ReadyNode() = default;
  ReadyNode(const ReadyNode&) = delete;
  ReadyNode& operator=(const ReadyNode&) = delete;

  std::atomic<bool> in_set{false};
  ReadyNode* next = nullptr;  // belongs to the set from add() until release()
};

class ReadySet {
 public:
  // Adds `node`. True: the node was not in the set. False: the node is in the set already, and the thread that added it
  // wakes the consumer. Threads: any.
  bool add(ReadyNode& node) {
    return add(node, [] {});
  }
  // As above. `prepare` runs before a consumer can take the node, and only if add() returns true.
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

  // Empties the set. Returns a chain of its nodes, in the order of adding; null: the set was empty. The consumer must
  // release every node of the chain; until then add() returns false for the node. Consumers that call this at once get
  // different nodes.
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

  // Consumer. Lets `node` be added again, and returns the next node of the chain. REQUIRES: the consumer reads the work
  // after this call, not before.
  static ReadyNode* release(ReadyNode& node) {
    ReadyNode* const next = node.next;
    // An exchange and not a store: it reads the value of the last add(), and so sees that producer's earlier writes.
    node.in_set.exchange(false, std::memory_order_acq_rel);
    return next;
  }

  // Threads: any.
  bool empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  std::atomic<ReadyNode*> newest_{nullptr};
};

}  // namespace railweave
