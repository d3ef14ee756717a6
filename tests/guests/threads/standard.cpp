// Threads of the C++ library: futures that carry values and exceptions, call_once, thread_local objects.
#include "../guest.h"
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static void futures()
{
    std::vector<std::future<double>> results;
    for (int i = 0; i < 20; i++)
        results.push_back(std::async(std::launch::async, [i] {
            if (i % 5 == 4)
                throw std::runtime_error("number " + std::to_string(i));
            return work(1000, i);
        }));
    int wrong = 0;
    for (int i = 0; i < 20; i++) {
        try {
            wrong += results[i].get() != work(1000, i);
        } catch (const std::runtime_error &error) {
            printf("caught %s\n", error.what());
        }
    }
    check(wrong == 0);
}

static std::atomic<int> constructed, destroyed;

struct Local {
    double sum = 0;
    Local() { constructed++; }
    ~Local() { destroyed++; }
};

static thread_local Local local;

static void thread_local_objects()
{
    std::vector<std::thread> threads;
    std::once_flag once;
    std::atomic<int> first{0};
    for (int i = 0; i < 10; i++)
        threads.emplace_back([&] {
            std::call_once(once, [&] { first++; });
            local.sum += work(100, 1);
        });
    for (auto &thread : threads)
        thread.join();
    check(constructed == 10 && destroyed == 10 && first == 1);
}

static void producer_and_consumers()
{
    std::queue<int> queue;
    std::mutex mutex;
    std::condition_variable changed;
    bool finished = false;
    std::atomic<long> sum{0};
    std::vector<std::thread> consumers;
    for (int i = 0; i < 3; i++)
        consumers.emplace_back([&] {
            for (;;) {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return finished || !queue.empty(); });
                if (queue.empty())
                    return;
                int item = queue.front();
                queue.pop();
                lock.unlock();
                sum += item;
            }
        });
    for (int i = 1; i <= 2000; i++) {
        std::lock_guard lock(mutex);
        queue.push(i);
        changed.notify_one();
    }
    {
        std::lock_guard lock(mutex);
        finished = true;
    }
    changed.notify_all();
    for (auto &consumer : consumers)
        consumer.join();
    check(sum == 2001000);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"futures", futures},
                                      {"thread_local objects", thread_local_objects},
                                      {"producer and consumers", producer_and_consumers},
                                      {nullptr, nullptr}};
    return run_cases(cases, argc, argv);
}
