# Constraints of tfhe_engine: 200 MHz, the clock of the nvme-tfhe-platform paper. The aim of a synthesis, not a result of one.
create_clock -name clk -period 5.0 [get_ports clk_i]
set_clock_uncertainty 0.1 [get_clocks clk]

# Reset is released through prim_reset_sync in the system around the engine.
set_false_path -from [get_ports rst_ni]

# The interconnect has registers at its ports: it takes a third of a cycle in each direction.
set inputs [remove_from_collection [all_inputs] [get_ports {clk_i}]]
set_input_delay [expr 5.0 / 3] -clock clk $inputs
set_output_delay [expr 5.0 / 3] -clock clk [all_outputs]
