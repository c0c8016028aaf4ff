// Bitwise and, or, xor: integers of any size are reduced as bytes; truth values, too.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/bits.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first; the headers below are included once per target.
#include "collectives/kernels/sweep.h"

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {

template <class T>
struct AllOf : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const { return hn::And(a, b); }
};

template <class T>
struct AnyOf : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const { return hn::Or(a, b); }
};

template <class T>
struct OddOf : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const { return hn::Xor(a, b); }
};

template <class Lanes>
Loop choose_bits_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::band: return &sweep<Lanes, AllOf>;
    case Reduction::bor: return &sweep<Lanes, AnyOf>;
    case Reduction::bxor: return &sweep<Lanes, OddOf>;
    default: return nullptr;
  }
}

Loop choose_bits(Reduction reduction, Element element) {
  return element == Element::boolean ? choose_bits_of<Boolean>(reduction)
                                     : choose_bits_of<Plain<std::uint8_t>>(reduction);
}

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace railweave::collectives {

Loop bit_loop(Target target, Reduction reduction, Element element) {
  return RW_FOR_TARGET(target, choose_bits)(reduction, element);
}

}  // namespace railweave::collectives
#endif
