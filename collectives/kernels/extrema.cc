// Minima and maxima. Floats follow IEEE 754-2019: any NaN gives NaN, and -0 is less than +0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/extrema.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first; the headers below are included once per target.
#include "collectives/kernels/sweep.h"

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {

// Returns `b` if `b` is better or NaN, else `a`, which may be NaN.
template <class V, class M>
HWY_INLINE V better(V a, V b, M b_is_better) {
  return hn::IfThenElse(hn::Or(b_is_better, hn::IsNaN(b)), b, a);
}

template <class T>
struct Minimum : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const {
    if constexpr (!hwy::IsFloat<T>()) return hn::Min(a, b);
    // Equal values differ at most in the sign of zero.
    else
      return hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), better(a, b, hn::Lt(b, a)));
  }
};

template <class T>
struct Maximum : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const {
    if constexpr (!hwy::IsFloat<T>())
      return hn::Max(a, b);
    else
      return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), better(a, b, hn::Gt(b, a)));
  }
};

template <template <class> class Op>
Loop choose_ordered(Element element) {
  switch (element) {
    case Element::i8: return &sweep<Plain<std::int8_t>, Op>;
    case Element::u8: return &sweep<Plain<std::uint8_t>, Op>;
    case Element::i16: return &sweep<Plain<std::int16_t>, Op>;
    case Element::u16: return &sweep<Plain<std::uint16_t>, Op>;
    case Element::i32: return &sweep<Plain<std::int32_t>, Op>;
    case Element::u32: return &sweep<Plain<std::uint32_t>, Op>;
    case Element::i64: return &sweep<Plain<std::int64_t>, Op>;
    case Element::u64: return &sweep<Plain<std::uint64_t>, Op>;
    case Element::f16: return &sweep<Float16, Op>;
    case Element::bf16: return &sweep<Bfloat16, Op>;
    case Element::f32: return &sweep<Plain<float>, Op>;
    case Element::f64: return &sweep<Plain<double>, Op>;
    case Element::boolean: break;
  }
  return nullptr;
}

Loop choose_extremum(Reduction reduction, Element element) {
  return reduction == Reduction::min ? choose_ordered<Minimum>(element) : choose_ordered<Maximum>(element);
}

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace railweave::collectives {

Loop extremum_loop(Target target, Reduction reduction, Element element) {
  return RW_FOR_TARGET(target, choose_extremum)(reduction, element);
}

}  // namespace railweave::collectives
#endif
