# The clock that the prediction assumes: 100 MHz (arria10_gx1150).
create_clock -name aclk -period 10.000 [get_ports aclk]
