// An intrusive list, first in, first out but for insert(): no allocation, an element is in it at most once. The element
// carries a FifoHook per list it can be in and outlives its membership. One thread at a time.
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

  // No effect when `element` is in the list already.
  void push(T* element) {
    if (!(element->*hook).linked) insert(element, tail_);
  }

  // REQUIRES: `element` is not in the list. Next to `behind`, or in front of all where that is null.
  void insert(T* element, T* behind) {
    assert(!(element->*hook).linked);
    assert(behind == nullptr || (behind->*hook).linked);
    T* const after = behind ? (behind->*hook).next : head_;
    element->*hook = {after, behind, true};
    (behind ? (behind->*hook).next : head_) = element;
    (after ? (after->*hook).previous : tail_) = element;
  }

  // No effect when `element` is in no list. REQUIRES: else it is in this one.
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
