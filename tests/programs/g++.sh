# packages: g++
cd "$(mktemp -d)"
cat >a.cc <<'X'
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>
struct Base { virtual ~Base() = default; virtual std::string name() const { return "base"; } };
struct Derived : Base { std::string name() const override { return "derived"; } };
int main() {
    std::vector<int> v(1000); std::iota(v.begin(), v.end(), 1);
    std::cout << std::accumulate(v.begin(), v.end(), 0) << "\n";
    auto f = std::async(std::launch::async, [&] { return *std::max_element(v.begin(), v.end()); }); std::cout << f.get() << "\n";
    try { throw std::runtime_error("thrown"); } catch (const std::exception &e) { std::cout << e.what() << "\n"; }
    std::thread t([] { try { throw 1; } catch (int n) { std::cout << "in a thread " << n << "\n"; } }); t.join();
    std::unique_ptr<Base> b = std::make_unique<Derived>(); std::cout << b->name() << " " << dynamic_cast<Derived *>(b.get())->name() << "\n";
    std::smatch m; std::string s = "key=value"; if (std::regex_match(s, m, std::regex("(\\w+)=(\\w+)"))) std::cout << m[2] << "\n";
    std::filesystem::create_directories("x/y"); std::ofstream("x/y/f") << "text"; for (auto &e : std::filesystem::recursive_directory_iterator("x")) std::cout << e.path().string() << "\n";
    std::ostringstream o; o << std::hex << 255 << std::boolalpha << true; std::cout << o.str() << "\n"; std::map<std::string, int> c; for (auto w : {"a", "b", "a"}) c[w]++; std::cout << c["a"] << std::endl;
}
X
for o in -O0 '-O2 -std=c++20'; do g++ $o -pthread -o a a.cc && ./a; echo $?; done
