// The loop of all reductions, for one instruction set. The loop reads every operand once and writes `to` once, for any
// number of operands. All operands of an element are read before the element is written, so `to` may be one of them.
// Included once per target.
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

// Defaults of a reduction whose elements are accumulated as T. The reduction adds combine().
template <class T>
struct Reducer {
  static constexpr bool kScales = false;  // true: scale() changes raw operands

  explicit Reducer(const Job&) {}
  HWY_INLINE Vector<T> scale(Vector<T> v) const { return v; }
  HWY_INLINE Vector<T> finish(Vector<T> v) const { return v; }
};

// Multiplies. Not every target multiplies 8-bit and 64-bit integers in hardware, and Highway has no 8-bit products.
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
    const hn::RepartitionToWide<Tag<T> > wide;
    const auto even = hn::Mul(hn::BitCast(wide, a), hn::BitCast(wide, b));
    const auto odd = hn::Mul(hn::ShiftRight<8>(hn::BitCast(wide, a)), hn::ShiftRight<8>(hn::BitCast(wide, b)));
    return hn::BitCast(d, hn::Or(hn::And(even, hn::Set(wide, 0xff)), hn::ShiftLeft<8>(odd)));
  }
#endif
}

// Form of elements in memory. twins: raw elements loaded into two registers (load_twins()); then all operands and the
// result are twins.
enum class Form { raw, partial, twins };

template <class Lanes, template <class> class Op>
struct Sweep {
  using T = typename Lanes::Partial;
  using V = Vector<T>;
  using Operation = Op<T>;
  static constexpr std::size_t kStep = hn::MaxLanes(Tag<T>());  // all targets here have registers of fixed size
  // True: partial and raw operands are read in the same way.
  static constexpr bool kOneForm = !Lanes::kWidens && !Operation::kScales;

  const Operation operation;
  unsigned char* const to;
  const bool to_partial;

  template <Form kForm>
  HWY_INLINE V load(const void* data, std::size_t i) const {
    if constexpr (kForm == Form::partial && Lanes::kWidens) return Plain<T>::load(data, i);
    if constexpr (kForm == Form::partial) return Lanes::load(data, i);
    return operation.scale(Lanes::load(data, i));
  }

  template <Form kForm>
  HWY_INLINE void load_two(const void* data, std::size_t i, V& a, V& b) const {
    if constexpr (kForm == Form::twins) {
      Lanes::load_twins(data, i, a, b);
      a = operation.scale(a);
      b = operation.scale(b);
    } else {
      a = load<kForm>(data, i);
      b = load<kForm>(data, i + kStep);
    }
  }

  HWY_INLINE void store(V v, void* at, std::size_t i) const {
    if (Lanes::kWidens && to_partial) return Plain<T>::store(v, at, i);
    Lanes::store(operation.finish(v), at, i);
  }

  template <bool kTwins>
  HWY_INLINE void store_two(V a, V b, std::size_t i) const {
    if constexpr (kTwins) {
      Lanes::store_twins(operation.finish(a), operation.finish(b), to, i);
    } else {
      store(a, to, i);
      store(b, to, i + kStep);
    }
  }

  template <Form kForm>
  HWY_INLINE void first_four(const void* data, std::size_t i, V& a, V& b, V& c, V& d) const {
    load_two<kForm>(data, i, a, b);
    load_two<kForm>(data, i + 2 * kStep, c, d);
  }

  template <Form kForm>
  HWY_INLINE void next_four(const void* data, std::size_t i, V& a, V& b, V& c, V& d) const {
    V e, f, g, h;
    first_four<kForm>(data, i, e, f, g, h);
    a = operation.combine(a, e);
    b = operation.combine(b, f);
    c = operation.combine(c, g);
    d = operation.combine(d, h);
  }

  template <bool kTwins, class From>
  HWY_INLINE void four(const From& from, std::size_t i) const {
    constexpr Form kRaw = kTwins ? Form::twins : Form::raw;
    V a, b, c, d;
    if (!kOneForm && !kTwins && from[0].partial) {
      first_four<Form::partial>(from[0].data, i, a, b, c, d);
    } else {
      first_four<kRaw>(from[0].data, i, a, b, c, d);
    }
    for (std::size_t k = 1; k < from.size(); ++k) {
      if (!kOneForm && !kTwins && from[k].partial) {
        next_four<Form::partial>(from[k].data, i, a, b, c, d);
      } else {
        next_four<kRaw>(from[k].data, i, a, b, c, d);
      }
    }
    store_two<kTwins>(a, b, i);
    store_two<kTwins>(c, d, i + 2 * kStep);
  }

  HWY_INLINE V one_of(const Operand& operand, const void* data, std::size_t i) const {
    return !kOneForm && operand.partial ? load<Form::partial>(data, i) : load<Form::raw>(data, i);
  }

  template <class From>
  HWY_INLINE void one(const From& from, std::size_t i) const {
    V v = one_of(from[0], from[0].data, i);
    for (std::size_t k = 1; k < from.size(); ++k) v = operation.combine(v, one_of(from[k], from[k].data, i));
    store(v, to, i);
  }

  // Reduces the last elements, fewer than a register holds, through a buffer that can be read in full.
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
  HWY_INLINE bool all_raw(const From& from) const {
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k].partial) return false;
    return !to_partial;
  }

  template <class From>
  HWY_INLINE void all(From from, std::size_t begin, std::size_t end) const {
    std::size_t i = begin;
    if constexpr (Lanes::kTwins)
      if (all_raw(from))
        for (; end - i >= 4 * kStep; i += 4 * kStep) four<true>(from, i);
    for (; end - i >= 4 * kStep; i += 4 * kStep) four<false>(from, i);
    for (; end - i >= kStep; i += kStep) one(from, i);
    if (i < end) rest(from, i, end - i);
  }
};

// Two operands, by far the most frequent number; their fields are not loaded again for each element.
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
