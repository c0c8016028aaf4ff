// Sums of operands, sums of scaled raw operands, and averages of floats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/sums.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first; the headers below are included once per target.
#include "collectives/kernels/sweep.h"

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {

template <class T>
struct Sum : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const { return hn::Add(a, b); }
};

template <class T>
struct Average : Sum<T> {
  const T ranks;
  explicit Average(const Job& job) : Sum<T>(job), ranks(T(job.ranks)) {}
  HWY_INLINE Vector<T> finish(Vector<T> v) const { return hn::Div(v, hn::Set(Tag<T>(), ranks)); }
};

template <class T>
T factor_of(const Job& job) {
  if constexpr (hwy::IsFloat<T>()) return T(job.factor);
  return T(job.integer_factor);
}

template <class T>
struct ScaledSum : Sum<T> {
  static constexpr bool kScales = true;
  const T factor;
  explicit ScaledSum(const Job& job) : Sum<T>(job), factor(factor_of<T>(job)) {}
  HWY_INLINE Vector<T> scale(Vector<T> v) const { return multiply<T>(v, hn::Set(Tag<T>(), factor)); }
};

// Wrapping sums and products are the same for signed and unsigned integers.
template <template <class> class Op>
Loop choose_any(Element element) {
  switch (element) {
    case Element::i8:
    case Element::u8: return &sweep<Plain<std::uint8_t>, Op>;
    case Element::i16:
    case Element::u16: return &sweep<Plain<std::uint16_t>, Op>;
    case Element::i32:
    case Element::u32: return &sweep<Plain<std::uint32_t>, Op>;
    case Element::i64:
    case Element::u64: return &sweep<Plain<std::uint64_t>, Op>;
    case Element::f16: return &sweep<Float16, Op>;
    case Element::bf16: return &sweep<Bfloat16, Op>;
    case Element::f32: return &sweep<Plain<float>, Op>;
    case Element::f64: return &sweep<Plain<double>, Op>;
    case Element::boolean: break;
  }
  return nullptr;
}

Loop choose_average(Element element) {
  switch (element) {
    case Element::f16: return &sweep<Float16, Average>;
    case Element::bf16: return &sweep<Bfloat16, Average>;
    case Element::f32: return &sweep<Plain<float>, Average>;
    case Element::f64: return &sweep<Plain<double>, Average>;
    default: return nullptr;
  }
}

Loop choose_sum(Reduction reduction, Element element) {
  if (reduction == Reduction::avg) return choose_average(element);
  return reduction == Reduction::premul_sum ? choose_any<ScaledSum>(element) : choose_any<Sum>(element);
}

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace railweave::collectives {

Loop sum_loop(Target target, Reduction reduction, Element element) {
  return RW_FOR_TARGET(target, choose_sum)(reduction, element);
}

}  // namespace railweave::collectives
#endif
