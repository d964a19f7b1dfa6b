// Values of the special functions: from mpmath at 40 digits, from libm on grids, at poles and limits.
#include "grad/grad.h"
#include "ops/op_test.h"

namespace espalier {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor decomposed(const OpDef& op, const std::vector<Tensor>& inputs) {
  return op.decompose({nullptr, inputs, {}})[0];
}

struct Point {
  double x, y;
};
// In f64 within `bound`, in f32 within 1e-6 of the value at the rounded argument, relative.
void expect_values(const OpDef& op, const std::vector<Point>& points, double bound) {
  for (const auto& [x, y] : points) {
    EXPECT_NEAR(decomposed(op, {Tensor::scalar(x)}).item<double>() / y, 1, bound) << op.name << " of " << x;
    if (static_cast<double>(static_cast<float>(x)) != x) continue;
    EXPECT_NEAR(decomposed(op, {Tensor::scalar(static_cast<float>(x))}).item<float>() / y, 1, 1e-6)
        << op.name << " of " << x;
  }
}

TEST(SpecialValues, Digamma) {
  expect_values(op_digamma,
                {{1.0000000000000001e-5, -100000.57719921567},
                 {0.10000000000000001, -10.423754940411076},
                 {0.5, -1.9635100260214235},
                 {0.98999999999999999, -0.59378630405559516},
                 {1.0, -0.57721566490153286},
                 {1.25, -0.22745353337626541},
                 {1.4375, -0.023613544005297899},
                 {1.46875, 0.0068654114707357767},
                 {1.5, 0.036489973978576521},
                 {2.0, 0.42278433509846714},
                 {2.75, 0.81890102497543259},
                 {3.0, 0.92278433509846714},
                 {3.5, 1.1031566406452432},
                 {10.0, 2.2517525890667211},
                 {100.0, 4.6001618527380874},
                 {10000000000.0, 23.025850929890457},
                 {-0.25, 2.9141391202135278},
                 {-1.5, 0.70315664064524319},
                 {-7.875, -5.4586319404955003}},
                1e-14);
}
TEST(SpecialValues, BesselI1e) {
  expect_values(op_bessel_i1e,
                {{-20.0, -0.087506222183288665},
                 {-3.0, -0.19682671329730085},
                 {-0.5, -0.1564208031848717},
                 {1.0e-10, 4.9999999995000002e-11},
                 {0.25, 0.098112628697368247},
                 {1.0, 0.20791041534970845},
                 {4.0, 0.17875083950243533},
                 {7.9375, 0.13461229691952455},
                 {8.0, 0.13414249329269818},
                 {8.0625, 0.13367745553376246},
                 {12.0, 0.11146429929018098},
                 {50.0, 0.0559931238928954},
                 {1000.0, 0.012610930256928629},
                 {100000000.0, 3.9894227890539912e-5}},
                1e-14);
}
TEST(SpecialValues, ErfInv) {
  expect_values(op_erf_inv,
                {{-0.9375, -1.3171503349861307},
                 {-0.5, -0.47693627620446987},
                 {9.9999999999999995e-21, 8.8622692545275797e-21},
                 {0.125, 0.11123545184094996},
                 {0.5, 0.47693627620446987},
                 {0.75, 0.81341984759761854},
                 {0.9375, 1.3171503349861307},
                 {0.984375, 1.7094723742995115},
                 {0.9990234375, 2.3314677736219477},
                 {0.99999904632568359, 3.4655050258033307},
                 {0.99999999906867743, 4.3280282758009465},
                 {0.99999999999999989, 5.8635847487551679}},
                1e-14);
}
TEST(SpecialValues, Lgamma) {
  expect_values(op_lgamma,
                {{1.0000000000000001e-5, 11.512919692895826},
                 {0.10000000000000001, 2.2527126517342059},
                 {0.5, 0.57236494292470009},
                 {0.99609375, 0.0022673224879091199},
                 {1.00390625, -0.0022422226599611501},
                 {1.5, -0.12078223763524522},
                 {1.99609375, -0.0016465768332272092},
                 {2.0078125, 0.0033226524041026499},
                 {2.5, 0.28468287047291916},
                 {3.0, 0.69314718055994531},
                 {3.25, 0.93580193110872536},
                 {10.0, 12.80182748008147},
                 {100.0, 359.1342053695754},
                 {10000000000.0, 220258509288.81058}},
                1e-14);
}

struct Triple {
  double a, b, y;
};
TEST(SpecialValues, ZetaAndPolygamma) {
  for (const auto& [s, q, y] : std::vector<Triple>{{1.0625, 0.5, 18.050021021803593},
                                                   {1.5, 1, 2.6123753486854883},
                                                   {2, 1, 1.6449340668482264},
                                                   {2, 0.125, 65.388133444988034},
                                                   {3, 2.5, 0.1181020258208637},
                                                   {4, 10, 0.00038665021738164473},
                                                   {7, 0.75, 7.512397920965798},
                                                   {2, 100, 0.010050166663333571},
                                                   {30, 1, 1.0000000009313274},
                                                   {60, 3, 2.3589825628243266e-29}})
    EXPECT_NEAR(zeta(Tensor::scalar(s), Tensor::scalar(q)).item<double>() / y, 1, 1e-14) << s << ", " << q;
  for (const auto& [n, x, y] : std::vector<Triple>{{0, 2.5, 0.70315664064524319},
                                                   {1, 1, 1.6449340668482264},
                                                   {1, 0.25, 17.197329154507111},
                                                   {2, 3, -0.15411380631918857},
                                                   {3, 0.5, 97.409091034002437},
                                                   {5, 7, 0.0020094931750490291},
                                                   {10, 2, -1793.311606628713}})
    EXPECT_NEAR(polygamma(Tensor::scalar(n), Tensor::scalar(x)).item<double>() / y, 1, 1e-14)
        << n << ", " << x;
}

TEST(SpecialValues, DigammasGradientBelowZero) {
  for (const auto& [x, y] : std::vector<Point>{{-0.25, 18.541879647671606},
                                               {-1.5, 9.3792466449891238},
                                               {-3.875, 67.166280619664468},
                                               {0.5, 4.9348022005446793},
                                               {4, 0.28382295573711533}}) {
    const Tensor in = Tensor::scalar(x), out = digamma(in), one = Tensor::scalar(1.0);
    const TapeEntry call{&op_digamma, nullptr, {in}, {out}, {}};
    EXPECT_NEAR(reverse({&call, 1}, {&out, 1}, {&one, 1}, {&in, 1})[0].item<double>() / y, 1, 1e-13) << x;
  }
}

// The decomposition over a grid against libm in f64 and, for f32, against f64 at the same arguments. The
// error is relative to max(|y|, floor).
void expect_follows(const OpDef& op, double (*f)(double), double low, double high, double bound,
                    double floor = 0) {
  const int count = 4001;
  std::vector<double> xs;
  std::vector<float> narrow;
  for (int i = 0; i < count; ++i) {
    narrow.push_back(static_cast<float>(low + (high - low) * i / (count - 1)));
    xs.push_back(narrow.back());
  }
  const auto found = decomposed(op, {Tensor::of(xs, {count})}).to_vector<double>();
  const auto found_narrow = decomposed(op, {Tensor::of(narrow, {count})}).to_vector<float>();
  double worst = 0, worst_narrow = 0, at = 0, at_narrow = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const double y = f(xs[i]), scale = std::max(std::abs(y), floor);
    if (!std::isfinite(y) || scale < 1e-37) continue;
    const double error = std::abs(found[i] - y) / scale, error_narrow = std::abs(found_narrow[i] - y) / scale;
    if (!(error <= worst)) worst = error, at = xs[i];
    if (std::abs(y) < 3e38 && !(error_narrow <= worst_narrow)) worst_narrow = error_narrow, at_narrow = xs[i];
  }
  EXPECT_LE(worst, bound) << op.name << " at " << at;
  EXPECT_LE(worst_narrow, 1e-6) << op.name << " in f32 at " << at_narrow;
}

TEST(SpecialGrid, DecompositionsFollowLibm) {
  expect_follows(
      op_acos, [](double x) { return std::acos(x); }, -1, 0.999, 1e-15);
  expect_follows(
      op_acosh, [](double x) { return std::acosh(x); }, 1.001, 20, 1e-14);
  expect_follows(
      op_acosh, [](double x) { return std::acosh(x); }, 1, 1e12, 1e-14);
  expect_follows(
      op_asin, [](double x) { return std::asin(x); }, -1, 1, 1e-15);
  expect_follows(
      op_asinh, [](double x) { return std::asinh(x); }, -20, 20, 1e-15);
  expect_follows(
      op_asinh, [](double x) { return std::asinh(x); }, -1e12, 1e12, 1e-15);
  expect_follows(
      op_atanh, [](double x) { return std::atanh(x); }, -0.9999, 0.9999, 1e-15);
  expect_follows(
      op_cosh, [](double x) { return std::cosh(x); }, -720, 720, 1e-15);
  expect_follows(
      op_sinh, [](double x) { return std::sinh(x); }, -720, 720, 1e-15);
  expect_follows(
      op_sinh, [](double x) { return std::sinh(x); }, -2, 2, 1e-15);
  expect_follows(
      op_erf, [](double x) { return std::erf(x); }, -7, 7, 2e-15);
  expect_follows(
      op_erfc, [](double x) { return std::erfc(x); }, -7, 9, 2e-15);
  expect_follows(
      op_lgamma, [](double x) { return std::lgamma(x); }, 1e-3, 4, 1e-14);
  expect_follows(
      op_lgamma, [](double x) { return std::lgamma(x); }, 4, 1e6, 1e-14);
  expect_follows(
      op_lgamma, [](double x) { return std::lgamma(x); }, -9.997, 0, 1e-14, 1);
}

template <class... Xs>
std::vector<double> values(const OpDef& op, Xs... xs) {
  return decomposed(op, {Tensor::of<double>({xs...})}).template to_vector<double>();
}
const auto is_nan = [](double x) { return std::isnan(x); };

TEST(SpecialValues, PolesAndLimits) {
  EXPECT_EQ(values(op_lgamma, 0.0, -1.0, -kInf, kInf, 1.0, 2.0),
            (std::vector<double>{kInf, kInf, kInf, kInf, 0, 0}));
  for (const double y : values(op_digamma, 0.0, -0.0, -3.0, -kInf, double(NAN))) EXPECT_PRED1(is_nan, y);
  EXPECT_EQ(values(op_digamma, kInf), (std::vector<double>{kInf}));
  EXPECT_EQ(values(op_erf, -kInf, kInf, 0.0, -0.0), (std::vector<double>{-1, 1, 0, 0}));
  EXPECT_TRUE(std::signbit(values(op_erf, -0.0)[0]));
  EXPECT_EQ(values(op_erfc, -kInf, kInf, 0.0), (std::vector<double>{2, 0, 1}));
  EXPECT_EQ(values(op_erf_inv, -1.0, 0.0, 1.0), (std::vector<double>{-kInf, 0, kInf}));
  EXPECT_EQ(values(op_sinh, -kInf, -0.0, kInf), (std::vector<double>{-kInf, 0, kInf}));
  EXPECT_EQ(values(op_cosh, -kInf, kInf), (std::vector<double>{kInf, kInf}));
  EXPECT_EQ(values(op_asinh, -kInf, 0.0, kInf), (std::vector<double>{-kInf, 0, kInf}));
  EXPECT_EQ(values(op_acosh, 1.0, kInf), (std::vector<double>{0, kInf}));
  EXPECT_EQ(values(op_atanh, -1.0, 1.0), (std::vector<double>{-kInf, kInf}));
  EXPECT_EQ(values(op_bessel_i1e, 0.0, kInf, -kInf), (std::vector<double>{0, 0, 0}));
  for (const OpDef* op : {&op_acos, &op_asin, &op_atanh, &op_erf_inv}) {
    for (const double y : values(*op, -1.5, 1.5, double(NAN))) EXPECT_PRED1(is_nan, y) << op->name;
  }
  for (const double y : values(op_acosh, 0.5, -3.0, -1e300, -kInf)) EXPECT_PRED1(is_nan, y);
  for (const OpDef* op : {&op_erf, &op_erfc, &op_lgamma, &op_sinh, &op_cosh, &op_asinh, &op_bessel_i1e})
    EXPECT_PRED1(is_nan, values(*op, double(NAN))[0]) << op->name;
  const auto zeta_of = [](double s, double q) {
    return zeta(Tensor::scalar(s), Tensor::scalar(q)).item<double>();
  };
  EXPECT_EQ(zeta_of(1, 2), kInf);
  EXPECT_EQ(zeta_of(2, 0), kInf);
  EXPECT_TRUE(std::isnan(zeta_of(0.5, 2)) && std::isnan(zeta_of(2, -0.5)));
  EXPECT_TRUE(std::isnan(polygamma(Tensor::scalar(1.5), Tensor::scalar(2.0)).item<double>()));
  EXPECT_TRUE(std::isnan(polygamma(Tensor::scalar(-1.0), Tensor::scalar(2.0)).item<double>()));
}

}  // namespace
}  // namespace espalier
