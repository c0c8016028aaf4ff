// Loads raw elements into registers and stores results, for one instruction set. Included once per target.
#if defined(RW_KERNELS_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_KERNELS_LANES
#undef RW_KERNELS_LANES
#else
#define RW_KERNELS_LANES
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

// 1: the hardware converts float16 (F16C, Arm), rounding to nearest even and keeping subnormals. 0: Float16 below does.
#undef RW_NATIVE_F16
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
#define RW_NATIVE_F16 1
#else
#define RW_NATIVE_F16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;
using Halves = hn::Rebind<std::uint16_t, Tag<std::uint32_t>>;  // as many 16-bit elements as a register has floats

// Elements whose partial form equals the raw form.
template <class T>
struct Plain {
  using Partial = T;
  static constexpr std::size_t kRawBytes = sizeof(T);
  static constexpr bool kWidens = false;
  static constexpr bool kTwins = false;

  static HWY_INLINE Vector<T> load(const void* data, std::size_t i) {
    return hn::LoadU(Tag<T>(), static_cast<const T*>(data) + i);
  }
  static HWY_INLINE void store(Vector<T> v, void* to, std::size_t i) {
    hn::StoreU(v, Tag<T>(), static_cast<T*>(to) + i);
  }
};

// Truth values in bytes; any byte but 0 counts as 1.
struct Boolean : Plain<std::uint8_t> {
  static HWY_INLINE Vector<std::uint8_t> load(const void* data, std::size_t i) {
    return hn::Min(Plain::load(data, i), hn::Set(Tag<std::uint8_t>(), 1));
  }
};

struct Widened {
  using Partial = float;
  static constexpr std::size_t kRawBytes = 2;
  static constexpr bool kWidens = true;
  static constexpr bool kTwins = false;

 protected:
  static HWY_INLINE Vector<std::uint32_t> load_bits(const void* data, std::size_t i) {
    return hn::PromoteTo(Tag<std::uint32_t>(), hn::LoadU(Halves(), static_cast<const std::uint16_t*>(data) + i));
  }
  static HWY_INLINE void store_bits(Vector<std::uint32_t> bits, void* to, std::size_t i) {
    hn::StoreU(hn::TruncateTo(Halves(), bits), Halves(), static_cast<std::uint16_t*>(to) + i);
  }
};

struct Bfloat16 : Widened {
  using Bits = Tag<std::uint32_t>;

  static HWY_INLINE Vector<float> load(const void* data, std::size_t i) {
    return hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(load_bits(data, i)));
  }
  static HWY_INLINE void store(Vector<float> v, void* to, std::size_t i) {
    store_bits(hn::ShiftRight<16>(rounded(v)), to, i);
  }

#if HWY_TARGET != HWY_SCALAR
  // Loads the elements at even and at odd positions into two registers. This is cheaper than widening half a register
  // in order.
  static constexpr bool kTwins = true;

  static HWY_INLINE void load_twins(const void* data, std::size_t i, Vector<float>& even, Vector<float>& odd) {
    const auto both = hn::BitCast(Bits(), hn::LoadU(Tag<std::uint16_t>(), static_cast<const std::uint16_t*>(data) + i));
    even = hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(both));
    odd = hn::BitCast(Tag<float>(), hn::And(both, hn::Set(Bits(), 0xffff0000)));
  }
  static HWY_INLINE void store_twins(Vector<float> even, Vector<float> odd, void* to, std::size_t i) {
    const auto upper = hn::And(rounded(odd), hn::Set(Bits(), 0xffff0000));
    const Tag<std::uint16_t> d;
    hn::StoreU(hn::BitCast(d, hn::Or(upper, hn::ShiftRight<16>(rounded(even)))), d,
               static_cast<std::uint16_t*>(to) + i);
  }
#endif

 private:
  // Rounds to the upper 16 bits: to nearest, ties to even. A NaN keeps its upper bits and becomes quiet.
  static HWY_INLINE Vector<std::uint32_t> rounded(Vector<float> v) {
    const Bits d;
    const auto bits = hn::BitCast(d, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    const auto nearest = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
    const auto quiet = hn::Or(bits, hn::Set(d, 0x400000));
    return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), quiet, nearest);
  }
};

#if RW_NATIVE_F16

struct Float16 : Widened {
  using Raw = hn::Rebind<hwy::float16_t, Tag<float>>;

  static HWY_INLINE Vector<float> load(const void* data, std::size_t i) {
    return hn::PromoteTo(Tag<float>(), hn::LoadU(Raw(), static_cast<const hwy::float16_t*>(data) + i));
  }
  static HWY_INLINE void store(Vector<float> v, void* to, std::size_t i) {
    hn::StoreU(hn::DemoteTo(Raw(), v), Raw(), static_cast<hwy::float16_t*>(to) + i);
  }
};

#else

struct Float16 : Widened {
  // Shifts exponent and fraction to their places in a float. Multiplying by 2^112 then corrects the exponent, also of
  // subnormals.
  static HWY_INLINE Vector<float> load(const void* data, std::size_t i) {
    const Tag<std::uint32_t> d;
    const Tag<float> df;
    const auto half = load_bits(data, i);
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(d, 0x8000)));
    const auto shifted = hn::ShiftLeft<13>(hn::And(half, hn::Set(d, 0x7fff)));
    const auto scaled = hn::BitCast(d, hn::Mul(hn::BitCast(df, shifted), hn::Set(df, 0x1p112f)));
    const auto unbounded = hn::Gt(shifted, hn::Set(d, 0x0f7fffff));  // infinity, NaN
    const auto magnitude = hn::IfThenElse(unbounded, hn::Or(shifted, hn::Set(d, 0x7f800000)), scaled);
    return hn::BitCast(df, hn::Or(magnitude, sign));
  }

  static HWY_INLINE void store(Vector<float> v, void* to, std::size_t i) {
    const Tag<std::uint32_t> d;
    const Tag<float> df;
    const auto bits = hn::BitCast(d, v);
    const auto sign = hn::And(bits, hn::Set(d, 0x80000000));
    const auto magnitude = hn::Xor(bits, sign);
    // Results below 2^-14 are subnormal. Adding 1/2 rounds the value to a multiple of 2^-24 in the lowest bits.
    const auto half = hn::Set(df, 0.5f);
    const auto subnormal = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(df, magnitude), half)), hn::BitCast(d, half));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1));
    const auto rebased = hn::Sub(magnitude, hn::Set(d, (127u - 15u) << 23));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(rebased, hn::Set(d, 0xfff)), odd));
    const auto nan = hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 0x3ff)), hn::Set(d, 0x7e00));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 113u << 23)), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x477fffff)), hn::Set(d, 0x7c00), result);  // 2^16 or more
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7f800000)), nan, result);
    store_bits(hn::Or(result, hn::ShiftRight<16>(sign)), to, i);
  }
};

#endif

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
