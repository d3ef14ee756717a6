// The difference of two square roots, printed in every way that C++ has. Each line that ends in a comment prints one inaccurate
// number, by the function named there.
#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

static volatile double x = 1e12;

__attribute__((noinline)) static double wrong() { return std::sqrt(x + 1) - std::sqrt(x); }

struct Point {
    double x, y;
};

static std::ostream &operator<<(std::ostream &out, const Point &point) {
    return out << "(" << point.x << ", " // operator<<
               << 1.0 << ")";
}

int main() {
    std::cout << std::setprecision(17) << wrong() << "\n"; // operator<<
    std::cout << static_cast<float>(wrong()) << "\n"; // operator<< single
    std::cout << static_cast<long double>(wrong()) << "\n"; // operator<<
    std::cout << std::fixed << std::setw(20) << wrong() << "\n"; // operator<<
    std::ostringstream text;
    text << wrong(); // operator<<
    std::wostringstream wide;
    wide << wrong(); // operator<<
    std::cout << text.str() << "\n" << Point{wrong(), 1} << "\n";
    std::vector<Point> points(3);
    points.push_back(Point{wrong(), 2});
    std::cout << points.back().x << "\n"; // operator<<
    double value = wrong();
    text.write(reinterpret_cast<const char *>(&value), sizeof value); // ostream::write 0
    std::string made = std::to_string(1e6 * wrong()); // vsnprintf %f
    std::cout << made << "\n";
    char buffer[400], *end = buffer + sizeof buffer;
#ifdef _GLIBCXX_RELEASE
    *std::to_chars(buffer, end, wrong()).ptr = 0; // to_chars
    std::cout << buffer << "\n";
    std::to_chars(buffer, end, static_cast<float>(wrong())); // to_chars single
    std::to_chars(buffer, end, static_cast<long double>(wrong())); // to_chars
    std::to_chars(buffer, end, wrong(), std::chars_format::fixed); // to_chars
    std::to_chars(buffer, end, wrong(), std::chars_format::scientific, 5); // to_chars
#endif
    return end == buffer;
}
