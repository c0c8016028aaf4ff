// Fifo: an intrusive list, first in, first out except for insert(). Nothing is allocated. An element is in the list at
// most once.
// Lifetime: an element has one FifoHook for each list that it can be in, and outlives its membership.
// Threads: one at a time.
#pragma once

#include <cassert>

namespace railweave::protocol {

template <class T>
struct FifoHook {
  T* next = nullptr;
  T* previous = nullptr;
  bool linked = false;
};

template <class T, FifoHook<T> T::*hook>
class Fifo {
 public:
  bool empty() const { return head_ == nullptr; }
  T* front() const { return head_; }
  T* back() const { return tail_; }
  static T* next(const T* element) { return (element->*hook).next; }
  static T* previous(const T* element) { return (element->*hook).previous; }

  // Appends `element`. No effect if it is in the list already.
  void push(T* element) {
    if (!(element->*hook).linked) insert(element, tail_);
  }

  // Inserts `element` right after `behind`; null: at the front. REQUIRES: `element` is not in the list, and `behind`
  // is.
  void insert(T* element, T* behind) {
    assert(!(element->*hook).linked);
    assert(behind == nullptr || (behind->*hook).linked);
    T* const after = behind ? (behind->*hook).next : head_;
    element->*hook = {after, behind, true};
    (behind ? (behind->*hook).next : head_) = element;
    (after ? (after->*hook).previous : tail_) = element;
  }

  // Removes `element`. No effect if it is in no list. REQUIRES: `element` is in no other list.
  void remove(T* element) {
    FifoHook<T>& h = element->*hook;
    if (!h.linked) return;
    assert((h.previous ? (h.previous->*hook).next : head_) == element && "the element is in another list");
    assert((h.next ? (h.next->*hook).previous : tail_) == element);
    (h.previous ? (h.previous->*hook).next : head_) = h.next;
    (h.next ? (h.next->*hook).previous : tail_) = h.previous;
    h = {};
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace railweave::protocol
