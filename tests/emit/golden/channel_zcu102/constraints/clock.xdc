# The clock that the prediction assumes: 100 MHz (zcu102).
create_clock -name aclk -period 10.000 [get_ports aclk]
