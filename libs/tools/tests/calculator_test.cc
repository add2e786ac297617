#include "tertulia/tools/calculator.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace calculator_test {

std::string value(std::string_view expression) {
  const Result<std::string> result = calculate(expression);
  return result ? *result : result.error().message();
}

std::string problem(std::string_view expression) {
  const Result<std::string> result = calculate(expression);
  if (result) return "= " + *result;
  EXPECT_EQ(result.error().code(), ErrorCode::kBadArguments);
  const std::string start = "the expression is wrong at position ";
  EXPECT_TRUE(result.error().message().starts_with(start)) << result.error().message();
  return result.error().message().substr(start.size());
}

TEST(Calculator, FollowsTheOrderOfOperations) {
  EXPECT_EQ(value("10 + 20"), "30");
  EXPECT_EQ(value("2+3*4"), "14");
  EXPECT_EQ(value("(2+3)*4"), "20");
  EXPECT_EQ(value("100-10-1"), "89");
  EXPECT_EQ(value("100/10/2"), "5");
  EXPECT_EQ(value("2^3^2"), "512");
  EXPECT_EQ(value("2**10"), "1024");
  EXPECT_EQ(value("-2^2"), "-4");
  EXPECT_EQ(value("(-2)^2"), "4");
  EXPECT_EQ(value("2^-1"), "0.5");
  EXPECT_EQ(value("2*-3"), "-6");
  EXPECT_EQ(value("--3"), "3");
  EXPECT_EQ(value("3!+1"), "7");
  EXPECT_EQ(value("6 × 7 ÷ 2"), "21");
}

TEST(Calculator, IsExactForWholeNumbersDecimalsAndFractions) {
  EXPECT_EQ(value("-7**-5"), "-0.000059499018266198606");
  EXPECT_EQ(value("sqrt(2)*1e18"), "1414213562373095168");
  EXPECT_EQ(value("sqrt(2)*1e30"), "1.4142135623730953e+30");
  EXPECT_EQ(value(value("491!") + "-491!"), "0");
  EXPECT_EQ(value("10^400/3-10^400/3+1/3"), "0.3333333333333333");
  EXPECT_EQ(value("10^400/3"), std::string(400, '3'));
  EXPECT_EQ(value("0.1+0.2"), "0.3");
  EXPECT_EQ(value("1/3*3"), "1");
  EXPECT_EQ(value("1/8"), "0.125");
  EXPECT_EQ(value("9007199254740993+1"), "9007199254740994");
  EXPECT_EQ(value("2^64"), "18446744073709551616");
  EXPECT_EQ(value("12345678901234567890*98765432109876543210"), "1219326311370217952237463801111263526900");
  EXPECT_EQ(value("30!"), "265252859812191058636308480000000");
  EXPECT_EQ(value("2^200/2^198"), "4");
  EXPECT_EQ(value("1e3"), "1000");
  EXPECT_EQ(value("1.5e-3"), "0.0015");
  EXPECT_EQ(value(".5+5."), "5.5");
  EXPECT_EQ(value("007"), "7");
  EXPECT_EQ(value("0^0"), "1");
  EXPECT_EQ(value("(-1)^4097"), "-1");
  EXPECT_EQ(value("19.99*3"), "59.97");
  EXPECT_EQ(value("-0.05"), "-0.05");
}

TEST(Calculator, TheRemainderHasTheSignOfTheDivisor) {
  EXPECT_EQ(value("7%3"), "1");
  EXPECT_EQ(value("-7%3"), "2");
  EXPECT_EQ(value("7%-3"), "-2");
  EXPECT_EQ(value("5.5%2"), "1.5");
  EXPECT_EQ(value("sqrt(2)%1 > 0").substr(0, 23), "the expression is wrong");
}

TEST(Calculator, KnowsFunctionsAndConstants) {
  EXPECT_EQ(value("sqrt(16)"), "4");
  EXPECT_EQ(value("sqrt(1/4)"), "0.5");
  EXPECT_EQ(value("sqrt(2)"), "1.4142135623730951");
  EXPECT_EQ(value("round(2.5)"), "3");
  EXPECT_EQ(value("round(-2.5)"), "-3");
  EXPECT_EQ(value("round(3.14159, 2)"), "3.14");
  EXPECT_EQ(value("round(1234, -2)"), "1200");
  EXPECT_EQ(value("floor(-1.5) + ceil(-1.5)"), "-3");
  EXPECT_EQ(value("max(1, 3, 2) - min(4, -1)"), "4");
  EXPECT_EQ(value("sum(1,2,3,4)"), "10");
  EXPECT_EQ(value("gcd(12, 18) + lcm(4, 6)"), "18");
  EXPECT_EQ(value("abs(-3/2)"), "1.5");
  EXPECT_EQ(value("log10(1000)"), "3");
  EXPECT_EQ(value("log(8, 2)"), "3");
  EXPECT_EQ(value("ln(e)"), "1");
  EXPECT_EQ(value("cos(pi)"), "-1");
  EXPECT_EQ(value("tau - 2*pi"), "0");
  EXPECT_EQ(value("factorial(5)"), "120");
  EXPECT_EQ(value("1/3"), "0.3333333333333333");
}

TEST(Calculator, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(problem(""), "1: expected a number, got its end");
  EXPECT_EQ(problem("1 +"), "4: expected a number, got its end");
  EXPECT_EQ(problem("1 + * 2"), "5: expected a number, got \"*\"");
  EXPECT_EQ(problem("(1 + 2"), "7: expected ')', got its end");
  EXPECT_EQ(problem("1 2"), "3: expected an operator, got \"2\"");
  EXPECT_EQ(problem("1,234"), "2: expected an operator, got \",\"");
  EXPECT_EQ(problem("2 € 3"), "3: expected an operator, got \"€\"");
  EXPECT_EQ(problem("1/0"), "2: division by zero");
  EXPECT_EQ(problem("5 % (2-2)"), "3: division by zero");
  EXPECT_EQ(problem("0^-1"), "2: division by zero");
  EXPECT_EQ(problem("sqr(4)"), "1: there is no function or constant \"sqr\" (did you mean 'sqrt'?)");
  EXPECT_EQ(problem("sqrt(-1)"), "1: the result is not a real number");
  EXPECT_EQ(problem("1 + ln(0)"), "5: the result is too large");
  EXPECT_EQ(problem("sqrt 4"), "6: expected '(' after 'sqrt', got \"4\"");
  EXPECT_EQ(problem("atan2(1)"), "1: 'atan2' takes 2 arguments, got 1");
  EXPECT_EQ(problem("log(3)"), "1: 'log' takes 2 arguments, got 1; use ln, log10 or log2");
  EXPECT_EQ(problem("1.5!"), "4: the result is not a real number");
  EXPECT_EQ(problem("."), "1: expected digits beside the point");
  EXPECT_EQ(std::get<std::int64_t>(*calculate("1/0").error().fact("position")), 2);
}

TEST(Calculator, WhatIsTooLargeTooDeepOrTooLongIsRefused) {
  EXPECT_EQ(value("2^4000 - 2^4000 + 1"), "1");
  EXPECT_EQ(problem("9^9^9^9"), "4: the result is too large");
  EXPECT_EQ(problem("100000!"), "7: the result is too large");
  EXPECT_EQ(problem("1e999999999999"), "1: the result is too large");
  EXPECT_EQ(value("1e-999999999999"), "0");
  EXPECT_NE(problem(std::string(200, '(')).find("nests more than 100 levels"), std::string::npos);
  EXPECT_NE(problem(std::string(200, '-') + "1").find("nests more than 100 levels"), std::string::npos);
  EXPECT_EQ(value(std::string(90, '(') + "1" + std::string(90, ')')).substr(0, 3), "the");
  EXPECT_EQ(value(std::string(40, '(') + "1" + std::string(40, ')')), "1");
  EXPECT_FALSE(calculate(std::string(5'000, '1')).ok());
}

}  // namespace calculator_test
}  // namespace tertulia
