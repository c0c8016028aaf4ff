// An intrusive first-in-first-out list: no allocation, an element is in it at most once. The element carries a FifoHook
// per list it can be in and outlives its membership. One thread at a time.
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
  static T* next(const T* element) { return (element->*hook).next; }

  // No effect when `element` is in the list already.
  void push(T* element) {
    FifoHook<T>& h = element->*hook;
    if (h.linked) return;
    h = {nullptr, tail_, true};
    (tail_ ? (tail_->*hook).next : head_) = element;
    tail_ = element;
  }

  // No effect when `element` is not in the list.
  void remove(T* element) {
    FifoHook<T>& h = element->*hook;
    if (!h.linked) return;
    (h.previous ? (h.previous->*hook).next : head_) = h.next;
    (h.next ? (h.next->*hook).previous : tail_) = h.previous;
    h = {};
  }

  void move_to_back(T* element) {
    remove(element);
    push(element);
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace railweave::protocol
