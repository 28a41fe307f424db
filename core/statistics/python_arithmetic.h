// Python's arithmetic where it differs from the obvious C++ in the last bit.
#pragma once

namespace natsl::core::statistics {

/// Python's x ** 2: the C library's pow, which may differ from x * x in the last bit.
double PythonSquare(double value);

/// Python's round(x, digits): to the nearest decimal of the exact binary value, ties to even.
double PythonRound(double value, int digits);

/// numpy's round(x, digits): rint(x * 10^digits) / 10^digits, ties of the product to even.
double NumpyRound(double value, int digits);

}  // namespace natsl::core::statistics
