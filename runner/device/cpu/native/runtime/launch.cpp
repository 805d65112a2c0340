#include <chrono>

#include "crew.h"
#include "events.h"
#include "faults.h"

void simt_launch(const simt::LaunchRequest* request, simt::LaunchReport* report) {
    using Clock = std::chrono::steady_clock;
    *report = simt::LaunchReport();
    simt::Launch launch(*request, *report);
    const simt::SignalsCaught signals;
    simt::events::launch_begins(launch);
    const auto start = Clock::now();
    simt::Crew::instance().run(launch);
    report->seconds = std::chrono::duration<double>(Clock::now() - start).count();
    simt::events::launch_ends(launch);
    report->undefined_reads = launch.undefined_reads;
    report->heap_was_full = launch.heap_was_full;
}
