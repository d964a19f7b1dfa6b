// What a client asks of its plugin: options, processes, and that runs are waited for.
#include "pjrt/client.h"

#include "base/format.h"
#include "pjrt/compile_options.h"
#include "pjrt/compiler.h"
#include "pjrt/fake_plugin_test.h"

namespace espalier::pjrt {
namespace {

struct Clients : FakePlugin {};

TEST_F(Clients, OptionsAreThoseThatPluginsOfTheKindKnow) {
  const ClientOptions all = {
      .memory_grows = true, .memory_fraction = 0.25, .visible = {2, 0}, .cpu_devices = 3};
  const struct {
    const char *kind, *by_itself, *with_all;
  } kinds[] = {
      {"cuda", "client preallocate=true",
       "client preallocate=false memory_fraction=0.250000 visible_devices=2,0"},
      {"rocm", "client preallocate=true",
       "client preallocate=false memory_fraction=0.250000 visible_devices=2,0"},
      {"xla-cpu", "client cpu_device_count=1", "client cpu_device_count=3"},
      {"tpu", "client", "client"},
      {"", "client", "client"},
  };
  for (const auto& [kind, by_itself, with_all] : kinds) {
    EXPECT_EQ(Client::create(*plugin_, "fake", kind)->size(), 1u);
    EXPECT_EQ(take_log(), (Lines{by_itself, "client goes"})) << kind;
    Client::create(*plugin_, "fake", kind, all);
    EXPECT_EQ(take_log(), (Lines{with_all, "client goes"})) << kind;
  }
}

TEST_F(Clients, SayWhatTheyDrive) {
  EXPECT_EQ(client()->platform(), "fake 1.2");
  EXPECT_TRUE(Client::create(*plugin_, "fake", "cuda")->platform().starts_with("fake 1.2, driver "));
  EXPECT_FALSE(client()->takes_options_of_cpus());
  state_->platform = "cpu";
  const ClientPtr cpu = client();
  EXPECT_TRUE(cpu->takes_options_of_cpus());
  cpu->takes_no_options_of_cpus();
  EXPECT_FALSE(cpu->takes_options_of_cpus());
}

TEST_F(Clients, DevicesAreNumberedAndKnowTheirKind) {
  state_->devices = {{.id = 5, .kind = "first"}, {.id = 3, .kind = "second"}, {.id = 9, .kind = "third"}};
  const ClientPtr three = client();
  ASSERT_EQ(three->size(), 3u);
  EXPECT_EQ(three->process(), 0);
  EXPECT_EQ(three->processes(), 1);
  const int ids[] = {5, 3, 9};
  const char* const kinds[] = {"first", "second", "third"};
  for (size_t i = 0; i < 3; ++i) {
    const DevicePtr device = three->device(i);
    EXPECT_EQ(device->name(), cat("fake:", i));
    EXPECT_EQ(device->kind(), kinds[i]);
    EXPECT_EQ(device->id(), ids[i]);
    EXPECT_EQ(three->number_of(*device), i);
    EXPECT_EQ(device->replicas(), 1u);
    EXPECT_EQ(device->world(), 1u);
    EXPECT_EQ(device->first_replica(), 0u);
  }
  const DevicePtr two = three->devices({2, 0}), all = three->everywhere();
  EXPECT_EQ(two->name(), "fake:2,0");
  EXPECT_EQ(two->kind(), "third");
  EXPECT_EQ(two->replica_name(0), "fake:2");
  EXPECT_EQ(two->replica_name(1), "fake:0");
  EXPECT_EQ(two->world(), 2u);
  EXPECT_EQ(three->devices({2, 0}).get(), two.get());
  EXPECT_NE(three->devices({0, 2}).get(), two.get());
  // With one process in the order of their numbers here.
  EXPECT_EQ(all->name(), "fake:0-2");
  EXPECT_EQ(three->devices({0, 1, 2}).get(), all.get());
}

TEST_F(Clients, TheDevicesOfAllProcessesStandBehindEachOther) {
  // As the plugin lists them: in no order.
  state_->devices = {{.id = 2, .process = 1}, {.id = 3}, {.id = 0, .process = 1}, {.id = 1}};
  const struct {
    int process;
    const char *name, *first_name;
  } processes[] = {{0, "fake:1,0", "fake:1"}, {1, "fake:1,0", "fake:1"}};
  for (const auto& [process, name, first_name] : processes) {
    state_->process = process;
    const ClientPtr own = client();
    EXPECT_EQ(own->size(), 2u);
    EXPECT_EQ(own->process(), process);
    EXPECT_EQ(own->processes(), 2);
    const DevicePtr all = own->everywhere();
    EXPECT_EQ(own->everywhere().get(), all.get());
    EXPECT_EQ(all->name(), name);
    EXPECT_EQ(all->replica_name(0), first_name);
    EXPECT_EQ(all->replicas(), 2u);
    EXPECT_EQ(all->world(), 4u);
    EXPECT_EQ(all->first_replica(), process == 0 ? 0u : 2u);
    take_options();
    all->compile(*sum_graph());
    EXPECT_EQ(take_options(), Lines{encode({.devices = {1, 3, 0, 2}, .replicas = 4})});
  }
  // A single device of each.
  state_->devices = {{.id = 7}, {.id = 4, .process = 1}};
  const ClientPtr own = client();
  const DevicePtr all = own->everywhere();
  EXPECT_EQ(all->name(), "fake:0");
  EXPECT_EQ(all->replicas(), 1u);
  EXPECT_EQ(all->world(), 2u);
  EXPECT_EQ(all->first_replica(), 1u);
}

TEST_F(Clients, ProcessesThatDoNotAgreeAreRefused) {
  const auto create = [&] { Client::create(*plugin_, "fake"); };
  const std::string begin = cat("device.client: ", plugin_->path(), " has ");
  state_->devices = {{.id = 0}, {.id = 1, .process = 1}, {.id = 2, .process = 1}};
  EXPECT_EQ(error_said(create), begin + "2 devices in process 1 of 2, and 1 in another");
  state_->devices = {{.id = 0}, {.id = 1, .process = 2}};
  EXPECT_EQ(error_said(create), begin + "1 device in process 2 of 2, and 1 in another");
  state_->devices = {{.id = 0}, {.id = 1, .process = -1}};
  EXPECT_EQ(error_said(create), begin + "1 device in process -1 of 2, and 1 in another");
  state_->process = 3;
  EXPECT_EQ(error_said(create), begin + "no device");
  state_->process = 0;
  state_->devices = {{.id = 0}, {.id = 1}};
  state_->unlisted = 1;
  EXPECT_EQ(error_said(create),
            cat("device.client: ", plugin_->path(), " lists 1 device of all processes, and this one has 2"));
}

TEST_F(Clients, ATwoOfRunsAreUnderWayAtMost) {
  const ClientPtr one = client_of(1);
  const DevicePtr device = one->device(0);
  const auto program = device->compile(*sum_graph());
  const RemoteArrayPtr x = two_numbers(*device);
  take_log();
  for (int i = 0; i < 4; ++i) run(*program, {x, x});
  EXPECT_EQ(take_log(), (Lines{"run 0.0 on 1 keeping 0,1", "run 0.1 on 1 keeping 0,1", "await 0.0 of 0",
                               "run 0.2 on 1 keeping 0,1", "await 0.1 of 0", "run 0.3 on 1 keeping 0,1"}));
  one->wait_for_runs();
  EXPECT_EQ(take_log(), (Lines{"await 0.2 of 0", "await 0.3 of 0"}));
  one->wait_for_runs();
  EXPECT_EQ(take_log(), Lines());
}

TEST_F(Clients, RunsOfAllDevicesAreWaitedFor) {
  state_->devices = {{.id = 0}, {.id = 1}, {.id = 2, .process = 1}, {.id = 3, .process = 1}};
  ClientPtr two = client();
  const auto run_on = [&](const DevicePtr& device) {
    const RemoteArrayPtr x = two_numbers(*device);
    run(*device->compile(*sum_graph()), {x, x});
  };
  const auto run_on_all = [&] {
    for (const DevicePtr& device : {two->device(1), two->devices({0, 1}), two->everywhere(), two->device(0)})
      run_on(device);
    take_log();
  };
  run_on_all();
  two->wait_for_runs();
  EXPECT_EQ(take_log(), (Lines{"await 3.0 of 0", "await 0.0 of 0", "await 1.0 of 0", "await 1.0 of 1",
                               "await 2.0 of 0", "await 2.0 of 1"}));
  run_on_all();
  two.reset();
  EXPECT_EQ(take_log(), (Lines{"await 7.0 of 0", "await 4.0 of 0", "await 5.0 of 0", "await 5.0 of 1",
                               "await 6.0 of 0", "await 6.0 of 1", "client goes"}));
}

TEST_F(Clients, ACompilerDescribesWhatIsNotThere) {
  state_->estimate = {.arguments = 100, .outputs = 40, .aliases = 30, .temporary = 7};
  const Compiler compiler(*plugin_, "v5e:2x2", {{"colour", "red"}, {"size", ""}});
  EXPECT_EQ(take_log(), Lines{"topology \"v5e:2x2\" colour=\"red\" size=\"\""});
  const Compiled program = compiler.compile(*sum_graph());
  EXPECT_EQ(program.arguments, 100);
  EXPECT_EQ(program.outputs, 40);
  EXPECT_EQ(program.aliases, 30);
  EXPECT_EQ(program.temporary, 7);
  EXPECT_EQ(program.serialized, 9u);
  EXPECT_EQ(program.in_all(), 117);
  compiler.compile(*sum_graph(), {}, 4);
  EXPECT_EQ(take_options(), (Lines{encode({.replicas = 1}), encode({.replicas = 4})}));
}

}  // namespace
}  // namespace espalier::pjrt
