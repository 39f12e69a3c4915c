# The clock that the prediction assumes: 100 MHz (pynq_z1).
create_clock -name aclk -period 10.000 [get_ports aclk]
