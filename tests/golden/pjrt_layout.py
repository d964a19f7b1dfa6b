"""Offsets of the structs of PJRT's C interface that src/pjrt/abi.h declares, and the places of its functions.

usage: pjrt_layout.py OUT.json     (pip install pypjrt==0.1.1, which has them from OpenXLA's header of 0.114 by libclang)
"""
import importlib
import json
import sys

CALLS = """Error_Destroy Error_Message Error_GetCode Plugin_Initialize Event_Destroy Event_Await Client_Create Client_Destroy
Client_PlatformName Client_ProcessIndex Client_PlatformVersion Client_Devices Client_AddressableDevices Client_Compile Client_BufferFromHostBuffer
DeviceDescription_Id DeviceDescription_ProcessIndex DeviceDescription_Kind Device_GetDescription Device_MemoryStats Executable_Destroy Executable_NumOutputs
Executable_Serialize LoadedExecutable_Destroy LoadedExecutable_GetExecutable LoadedExecutable_Execute
Executable_DeserializeAndLoad Buffer_Destroy Buffer_ElementType Buffer_Dimensions Buffer_IsDeleted Buffer_ToHostBuffer
TopologyDescription_Create TopologyDescription_Destroy Compile Executable_GetCompiledMemoryStats""".split()
STRUCTS = "PJRT_NamedValue PJRT_Program PJRT_ExecuteOptions PJRT_Buffer_MemoryLayout PJRT_Buffer_MemoryLayout_Tiled".split()


def main(out):
    abi = importlib.import_module("pypjrt._abi.pjrt_0_114")
    structs = {name: dict(getattr(abi, f"_OFFSETS_{name}")) for name in [f"PJRT_{call}_Args" for call in CALLS] + STRUCTS}
    slots = {f"PJRT_{call}": abi.SLOT[f"PJRT_{call}"] for call in CALLS}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"api": f"0.{abi.PJRT_API_MINOR}", "table_offset": abi.VTABLE_OFFSET, "slots": slots, "structs": structs}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
