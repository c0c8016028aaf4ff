// The loop of all reductions, for one instruction set: every operand is read once and `to` is written once, whatever their
// number, and no element is written before all operands were read there (so `to` may be one of them). Included once per target.
#if defined(RW_KERNELS_SWEEP) == defined(HWY_TARGET_TOGGLE)
#ifdef RW_KERNELS_SWEEP
#undef RW_KERNELS_SWEEP
#else
#define RW_KERNELS_SWEEP
#endif

#include <cstring>

#include "collectives/kernels/job.h"
#include "collectives/kernels/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {

// What a reduction of elements accumulated as T does where it does not say otherwise. It adds combine().
template <class T>
struct Reducer {
  static constexpr bool kScales = false;  // scale() does something to raw operands

  explicit Reducer(const Job&) {}
  HWY_INLINE Vector<T> scale(Vector<T> v) const { return v; }
  HWY_INLINE Vector<T> finish(Vector<T> v) const { return v; }
};

// The products of 8-bit and 64-bit integers are not everywhere in hardware, nor those of 8 bits in Highway.
template <class T>
HWY_INLINE Vector<T> multiply(Vector<T> a, Vector<T> b) {
#if HWY_TARGET == HWY_SCALAR
  if constexpr (hwy::IsFloat<T>()) return hn::Mul(a, b);
  return hn::Set(Tag<T>(), T(std::uint64_t(hn::GetLane(a)) * std::uint64_t(hn::GetLane(b))));
#else
  if constexpr (sizeof(T) > 1) {
    return hn::Mul(a, b);
  } else {
    const Tag<T> d;
    const hn::RepartitionToWide<Tag<T>> wide;
    const auto even = hn::Mul(hn::BitCast(wide, a), hn::BitCast(wide, b));
    const auto odd = hn::Mul(hn::ShiftRight<8>(hn::BitCast(wide, a)), hn::ShiftRight<8>(hn::BitCast(wide, b)));
    return hn::BitCast(d, hn::Or(hn::And(even, hn::Set(wide, 0xff)), hn::ShiftLeft<8>(odd)));
  }
#endif
}

template <class Lanes, template <class> class Op>
struct Sweep {
  using T = typename Lanes::Partial;
  using V = Vector<T>;
  using Operation = Op<T>;
  static constexpr std::size_t kStep = hn::MaxLanes(Tag<T>());  // every target here has registers of a fixed size

  const Operation operation;
  unsigned char* const to;
  const bool to_partial;

  template <bool kPartial>
  HWY_INLINE V load(const void* data, std::size_t i) const {
    if constexpr (kPartial && Lanes::kWidens) return Plain<T>::load(data, i);
    if constexpr (kPartial) return Lanes::load(data, i);
    return operation.scale(Lanes::load(data, i));
  }

  HWY_INLINE void store(V v, void* at, std::size_t i) const {
    if (Lanes::kWidens && to_partial) return Plain<T>::store(v, at, i);
    Lanes::store(operation.finish(v), at, i);
  }

  template <bool kPartial>
  HWY_INLINE void first_four(const void* data, std::size_t i, V& a, V& b, V& c, V& d) const {
    a = load<kPartial>(data, i);
    b = load<kPartial>(data, i + kStep);
    c = load<kPartial>(data, i + 2 * kStep);
    d = load<kPartial>(data, i + 3 * kStep);
  }

  template <bool kPartial>
  HWY_INLINE void next_four(const void* data, std::size_t i, V& a, V& b, V& c, V& d) const {
    a = operation.combine(a, load<kPartial>(data, i));
    b = operation.combine(b, load<kPartial>(data, i + kStep));
    c = operation.combine(c, load<kPartial>(data, i + 2 * kStep));
    d = operation.combine(d, load<kPartial>(data, i + 3 * kStep));
  }

  // Partial and raw operands are read alike.
  static constexpr bool kOneForm = !Lanes::kWidens && !Operation::kScales;

  template <class From>
  HWY_INLINE void four(const From& from, std::size_t i) const {
    V a, b, c, d;
    if (!kOneForm && from[0].partial) {
      first_four<true>(from[0].data, i, a, b, c, d);
    } else {
      first_four<false>(from[0].data, i, a, b, c, d);
    }
    for (std::size_t k = 1; k < from.size(); ++k) {
      if (!kOneForm && from[k].partial) {
        next_four<true>(from[k].data, i, a, b, c, d);
      } else {
        next_four<false>(from[k].data, i, a, b, c, d);
      }
    }
    store(a, to, i);
    store(b, to, i + kStep);
    store(c, to, i + 2 * kStep);
    store(d, to, i + 3 * kStep);
  }

  HWY_INLINE V one_of(const Operand& operand, const void* data, std::size_t i) const {
    return !kOneForm && operand.partial ? load<true>(data, i) : load<false>(data, i);
  }

  template <class From>
  HWY_INLINE void one(const From& from, std::size_t i) const {
    V v = one_of(from[0], from[0].data, i);
    for (std::size_t k = 1; k < from.size(); ++k) v = operation.combine(v, one_of(from[k], from[k].data, i));
    store(v, to, i);
  }

  // The last few, fewer than a register holds: by way of memory that may be read in full.
  template <class From>
  HWY_INLINE void rest(const From& from, std::size_t i, std::size_t count) const {
    alignas(64) unsigned char full[kStep * sizeof(T)] = {};
    V v = hn::Zero(Tag<T>());
    for (std::size_t k = 0; k < from.size(); ++k) {
      const std::size_t bytes = Lanes::kWidens && from[k].partial ? sizeof(T) : Lanes::kRawBytes;
      std::memcpy(full, static_cast<const unsigned char*>(from[k].data) + i * bytes, count * bytes);
      const V next = one_of(from[k], full, 0);
      v = k == 0 ? next : operation.combine(v, next);
    }
    store(v, full, 0);
    const std::size_t bytes = Lanes::kWidens && to_partial ? sizeof(T) : Lanes::kRawBytes;
    std::memcpy(to + i * bytes, full, count * bytes);
  }

  template <class From>
  HWY_INLINE void all(From from, std::size_t begin, std::size_t end) const {
    std::size_t i = begin;
    for (; end - i >= 4 * kStep; i += 4 * kStep) four(from, i);
    for (; end - i >= kStep; i += kStep) one(from, i);
    if (i < end) rest(from, i, end - i);
  }
};

// By far the most frequent number of operands: nothing of them is looked up again.
struct Pair {
  Operand first, second;
  HWY_INLINE const Operand& operator[](std::size_t k) const { return k == 0 ? first : second; }
  static constexpr std::size_t size() { return 2; }
};

template <class Lanes, template <class> class Op>
void sweep(const Job& job) {
  using Kind = Sweep<Lanes, Op>;
  const Kind loop{typename Kind::Operation(job), static_cast<unsigned char*>(job.to), job.to_partial};
  if (job.operands.size() == 2) return loop.all(Pair{job.operands[0], job.operands[1]}, job.begin, job.end);
  loop.all(job.operands, job.begin, job.end);
}

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
