// Registers of tfhe_engine, from hw/rdl/tfhe_engine.rdl by hw/flow/registers.py: byte offsets, places of fields.
package tfhe_engine_registers_pkg;
  localparam int unsigned AddrWidth = 12;
  localparam logic [AddrWidth-1:0] Steps = 12'h100;
  localparam int unsigned StepsValueBit = 0;
  localparam logic [AddrWidth-1:0] Objects = 12'h800;
endpackage
