// Products of operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/products.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first; the headers below are included once per target.
#include "collectives/kernels/sweep.h"

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {

template <class T>
struct Product : Reducer<T> {
  using Reducer<T>::Reducer;
  HWY_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) const { return multiply<T>(a, b); }
};

Loop choose_product(Element element) {
  switch (element) {
    case Element::i8:
    case Element::u8: return &sweep<Plain<std::uint8_t>, Product>;
    case Element::i16:
    case Element::u16: return &sweep<Plain<std::uint16_t>, Product>;
    case Element::i32:
    case Element::u32: return &sweep<Plain<std::uint32_t>, Product>;
    case Element::i64:
    case Element::u64: return &sweep<Plain<std::uint64_t>, Product>;
    case Element::f16: return &sweep<Float16, Product>;
    case Element::bf16: return &sweep<Bfloat16, Product>;
    case Element::f32: return &sweep<Plain<float>, Product>;
    case Element::f64: return &sweep<Plain<double>, Product>;
    case Element::boolean: break;
  }
  return nullptr;
}

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace railweave::collectives {

Loop product_loop(Target target, Element element) { return RW_FOR_TARGET(target, choose_product)(element); }

}  // namespace railweave::collectives
#endif
