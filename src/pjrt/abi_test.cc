// The own declaration of PJRT's interface against a layout generated from OpenXLA's header
// (tests/golden/pjrt_layout.py): each declared field, in its order, lies where the header has it.
#include "pjrt/abi.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/json.h"

namespace espalier::pjrt {
namespace {

const nlohmann::ordered_json& header() {
  static const auto json = parse_json(posix_env().read_file("tests/golden/pjrt_layout.json"));
  return json;
}

// `offsets`: of the fields behind the head. Fields that came after 0.81 are not declared.
void expect_layout(const std::string& name, const std::vector<size_t>& offsets) {
  SCOPED_TRACE(name);
  std::vector<size_t> wanted;
  for (const auto& [field, offset] : header().at("structs").at(name).items()) wanted.push_back(offset);
  ASSERT_GE(wanted.size(), offsets.size() + 2);
  EXPECT_EQ(wanted[0], offsetof(Head, bytes));
  EXPECT_EQ(wanted[1], offsetof(Head, extensions));
  for (size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(offsets[i], wanted[i + 2]) << "field " << i;
}

template <class Arguments>
void expect_call(const std::string& name, const std::vector<size_t>& offsets) {
  EXPECT_EQ(offsetof(Arguments, head), 0u);
  EXPECT_EQ(Arguments::kSlot, header().at("slots").at("PJRT_" + name).get<size_t>()) << name;
  expect_layout("PJRT_" + name + "_Args", offsets);
}

TEST(PjrtAbi, TheTableBeginsBehindItsVersion) {
  EXPECT_EQ(sizeof(AbiTable), header().at("table_offset").get<size_t>());
}

TEST(PjrtAbi, CallsHaveTheHeadersPlacesAndLayouts) {
  expect_call<ErrorDestroy>("Error_Destroy", {offsetof(ErrorDestroy, error)});
  expect_call<ErrorMessage>("Error_Message", {offsetof(ErrorMessage, error), offsetof(ErrorMessage, message),
                                              offsetof(ErrorMessage, message_size)});
  expect_call<ErrorGetCode>("Error_GetCode", {offsetof(ErrorGetCode, error), offsetof(ErrorGetCode, code)});
  expect_call<PluginInitialize>("Plugin_Initialize", {});
  expect_call<EventDestroy>("Event_Destroy", {offsetof(EventDestroy, event)});
  expect_call<EventAwait>("Event_Await", {offsetof(EventAwait, event)});
  expect_call<ClientCreate>(
      "Client_Create",
      {offsetof(ClientCreate, options), offsetof(ClientCreate, option_count), offsetof(ClientCreate, get),
       offsetof(ClientCreate, get_argument), offsetof(ClientCreate, put),
       offsetof(ClientCreate, put_argument), offsetof(ClientCreate, client), offsetof(ClientCreate, try_get),
       offsetof(ClientCreate, try_get_argument)});
  expect_call<ClientDestroy>("Client_Destroy", {offsetof(ClientDestroy, client)});
  expect_call<ClientPlatformName>("Client_PlatformName",
                                  {offsetof(ClientPlatformName, client), offsetof(ClientPlatformName, name),
                                   offsetof(ClientPlatformName, name_size)});
  expect_call<ClientPlatformVersion>(
      "Client_PlatformVersion",
      {offsetof(ClientPlatformVersion, client), offsetof(ClientPlatformVersion, version),
       offsetof(ClientPlatformVersion, version_size)});
  expect_call<ClientProcessIndex>(
      "Client_ProcessIndex", {offsetof(ClientProcessIndex, client), offsetof(ClientProcessIndex, process)});
  expect_call<ClientDevices>(
      "Client_Devices",
      {offsetof(ClientDevices, client), offsetof(ClientDevices, devices), offsetof(ClientDevices, count)});
  expect_call<DescriptionProcessIndex>(
      "DeviceDescription_ProcessIndex",
      {offsetof(DescriptionProcessIndex, description), offsetof(DescriptionProcessIndex, process)});
  expect_call<ClientAddressableDevices>(
      "Client_AddressableDevices",
      {offsetof(ClientAddressableDevices, client), offsetof(ClientAddressableDevices, devices),
       offsetof(ClientAddressableDevices, count)});
  expect_call<ClientCompile>(
      "Client_Compile",
      {offsetof(ClientCompile, client), offsetof(ClientCompile, program), offsetof(ClientCompile, options),
       offsetof(ClientCompile, options_size), offsetof(ClientCompile, executable)});
  expect_call<ClientBufferFromHost>(
      "Client_BufferFromHostBuffer",
      {offsetof(ClientBufferFromHost, client), offsetof(ClientBufferFromHost, data),
       offsetof(ClientBufferFromHost, type), offsetof(ClientBufferFromHost, dims),
       offsetof(ClientBufferFromHost, rank), offsetof(ClientBufferFromHost, strides),
       offsetof(ClientBufferFromHost, stride_count), offsetof(ClientBufferFromHost, host_bytes),
       offsetof(ClientBufferFromHost, device), offsetof(ClientBufferFromHost, memory),
       offsetof(ClientBufferFromHost, layout), offsetof(ClientBufferFromHost, done_with_host),
       offsetof(ClientBufferFromHost, buffer)});
  expect_call<DescriptionId>("DeviceDescription_Id",
                             {offsetof(DescriptionId, description), offsetof(DescriptionId, id)});
  expect_call<DescriptionKind>("DeviceDescription_Kind",
                               {offsetof(DescriptionKind, description), offsetof(DescriptionKind, kind),
                                offsetof(DescriptionKind, kind_size)});
  expect_call<DeviceGetDescription>("Device_GetDescription", {offsetof(DeviceGetDescription, device),
                                                              offsetof(DeviceGetDescription, description)});
  expect_call<DeviceMemoryStats>("Device_MemoryStats", {offsetof(DeviceMemoryStats, device),
                                                        offsetof(DeviceMemoryStats, in_use),
                                                        offsetof(DeviceMemoryStats, peak.value),
                                                        offsetof(DeviceMemoryStats, peak.known),
                                                        offsetof(DeviceMemoryStats, allocations.value),
                                                        offsetof(DeviceMemoryStats, allocations.known),
                                                        offsetof(DeviceMemoryStats, largest.value),
                                                        offsetof(DeviceMemoryStats, largest.known),
                                                        offsetof(DeviceMemoryStats, limit.value),
                                                        offsetof(DeviceMemoryStats, limit.known),
                                                        offsetof(DeviceMemoryStats, reserved.value),
                                                        offsetof(DeviceMemoryStats, reserved.known),
                                                        offsetof(DeviceMemoryStats, peak_reserved.value),
                                                        offsetof(DeviceMemoryStats, peak_reserved.known),
                                                        offsetof(DeviceMemoryStats, reservable.value),
                                                        offsetof(DeviceMemoryStats, reservable.known),
                                                        offsetof(DeviceMemoryStats, largest_free.value),
                                                        offsetof(DeviceMemoryStats, largest_free.known),
                                                        offsetof(DeviceMemoryStats, pool.value),
                                                        offsetof(DeviceMemoryStats, pool.known),
                                                        offsetof(DeviceMemoryStats, peak_pool.value),
                                                        offsetof(DeviceMemoryStats, peak_pool.known)});
  expect_call<ExecutableDestroy>("Executable_Destroy", {offsetof(ExecutableDestroy, executable)});
  expect_call<ExecutableNumOutputs>("Executable_NumOutputs", {offsetof(ExecutableNumOutputs, executable),
                                                              offsetof(ExecutableNumOutputs, count)});
  expect_call<ExecutableSerialize>(
      "Executable_Serialize", {offsetof(ExecutableSerialize, executable), offsetof(ExecutableSerialize, data),
                               offsetof(ExecutableSerialize, size), offsetof(ExecutableSerialize, serialized),
                               offsetof(ExecutableSerialize, destroy)});
  expect_call<LoadedDestroy>("LoadedExecutable_Destroy", {offsetof(LoadedDestroy, executable)});
  expect_call<LoadedGetExecutable>(
      "LoadedExecutable_GetExecutable",
      {offsetof(LoadedGetExecutable, loaded), offsetof(LoadedGetExecutable, executable)});
  expect_call<LoadedExecute>("LoadedExecutable_Execute",
                             {offsetof(LoadedExecute, executable), offsetof(LoadedExecute, options),
                              offsetof(LoadedExecute, arguments), offsetof(LoadedExecute, device_count),
                              offsetof(LoadedExecute, argument_count), offsetof(LoadedExecute, outputs),
                              offsetof(LoadedExecute, done), offsetof(LoadedExecute, device)});
  expect_call<ExecutableDeserializeAndLoad>(
      "Executable_DeserializeAndLoad",
      {offsetof(ExecutableDeserializeAndLoad, client), offsetof(ExecutableDeserializeAndLoad, data),
       offsetof(ExecutableDeserializeAndLoad, size), offsetof(ExecutableDeserializeAndLoad, loaded),
       offsetof(ExecutableDeserializeAndLoad, options),
       offsetof(ExecutableDeserializeAndLoad, options_size)});
  expect_call<BufferDestroy>("Buffer_Destroy", {offsetof(BufferDestroy, buffer)});
  expect_call<BufferElementType>("Buffer_ElementType",
                                 {offsetof(BufferElementType, buffer), offsetof(BufferElementType, type)});
  expect_call<BufferDimensions>("Buffer_Dimensions",
                                {offsetof(BufferDimensions, buffer), offsetof(BufferDimensions, dims),
                                 offsetof(BufferDimensions, rank)});
  expect_call<BufferIsDeleted>("Buffer_IsDeleted",
                               {offsetof(BufferIsDeleted, buffer), offsetof(BufferIsDeleted, is_deleted)});
  expect_call<BufferToHost>(
      "Buffer_ToHostBuffer",
      {offsetof(BufferToHost, buffer), offsetof(BufferToHost, layout), offsetof(BufferToHost, to),
       offsetof(BufferToHost, size), offsetof(BufferToHost, done)});
  expect_call<TopologyCreate>(
      "TopologyDescription_Create",
      {offsetof(TopologyCreate, name), offsetof(TopologyCreate, name_size), offsetof(TopologyCreate, options),
       offsetof(TopologyCreate, option_count), offsetof(TopologyCreate, topology)});
  expect_call<TopologyDestroy>("TopologyDescription_Destroy", {offsetof(TopologyDestroy, topology)});
  expect_call<TopologyCompile>("Compile",
                               {offsetof(TopologyCompile, topology), offsetof(TopologyCompile, program),
                                offsetof(TopologyCompile, options), offsetof(TopologyCompile, options_size),
                                offsetof(TopologyCompile, client), offsetof(TopologyCompile, executable)});
  expect_call<ExecutableMemoryStats>(
      "Executable_GetCompiledMemoryStats",
      {offsetof(ExecutableMemoryStats, executable), offsetof(ExecutableMemoryStats, code),
       offsetof(ExecutableMemoryStats, arguments), offsetof(ExecutableMemoryStats, outputs),
       offsetof(ExecutableMemoryStats, aliases), offsetof(ExecutableMemoryStats, temporary),
       offsetof(ExecutableMemoryStats, host_code), offsetof(ExecutableMemoryStats, host_arguments),
       offsetof(ExecutableMemoryStats, host_outputs), offsetof(ExecutableMemoryStats, host_aliases),
       offsetof(ExecutableMemoryStats, host_temporary), offsetof(ExecutableMemoryStats, peak)});
}

TEST(PjrtAbi, StructsHaveTheHeadersLayouts) {
  expect_layout("PJRT_NamedValue", {offsetof(NamedValue, name), offsetof(NamedValue, name_size),
                                    offsetof(NamedValue, kind), offsetof(NamedValue, size)});
  expect_layout("PJRT_Program", {offsetof(Program, code), offsetof(Program, code_size),
                                 offsetof(Program, format), offsetof(Program, format_size)});
  expect_layout("PJRT_ExecuteOptions",
                {offsetof(ExecuteOptions, sends), offsetof(ExecuteOptions, receives),
                 offsetof(ExecuteOptions, send_count), offsetof(ExecuteOptions, receive_count),
                 offsetof(ExecuteOptions, launch), offsetof(ExecuteOptions, kept_inputs),
                 offsetof(ExecuteOptions, kept_count), offsetof(ExecuteOptions, context),
                 offsetof(ExecuteOptions, call_location), offsetof(ExecuteOptions, task_count),
                 offsetof(ExecuteOptions, tasks), offsetof(ExecuteOptions, incarnations)});
  expect_layout("PJRT_Buffer_MemoryLayout", {offsetof(AxisLayout, kind)});
  std::vector<size_t> within;
  for (const size_t offset :
       {offsetof(AxisLayout, minor_to_major), offsetof(AxisLayout, axis_count), offsetof(AxisLayout, tiles),
        offsetof(AxisLayout, tile_sizes), offsetof(AxisLayout, tile_count)})
    within.push_back(offset - offsetof(AxisLayout, axes_head));
  expect_layout("PJRT_Buffer_MemoryLayout_Tiled", within);
}

}  // namespace
}  // namespace espalier::pjrt
