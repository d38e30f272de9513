
Ù
,/job:localhost/replica:0/task:0/device:CPU:03
_SOURCE€€½æë (B_SOURCE = NoOp()Hıÿ½æëj
layer0/MatMul_0…€½æë (:#!€"€€cpu(0… ½æëBlayer0/MatMul_0 = MatMul()H‚€½æë‡
layer1/MatMul_4¥½æë (:#!€"€€cpu(0¥¡½æëB7layer1/MatMul_4 = MatMul(layer0/Relu_2, layer1/Mul_3:1)H¢½æë
ö
,/job:localhost/replica:0/task:0/device:GPU:0Ÿ
layer0/Add_1­€½æë (:'%€"€€gpu_bfc(0­ ½æë:)%€"€€gpu_bfc(0­À½æëB#layer0/Add_1 = Add(layer0/MatMul_0)Hª€½æë‡
layer0/Relu_2Õ€½æë (:'%€"€ € gpu_bfc(0Õ ½æëB5layer0/Relu_2 = Relu(layer0/MatMul_0, layer0/Add_1:1)HÒ€½æë­
layer1/Mul_3ı€½æë (:'%€"€€gpu_bfc(0ı ½æë:)%€"€€gpu_bfc(0ıÀ½æëB1layer1/Mul_3 = Mul(layer0/Add_1:1, layer0/Relu_2)Hú€½æë¯
layer1/Add_5Í½æë (:'%€"€ € gpu_bfc(0Í¡½æë:)%€"€ € gpu_bfc(0ÍÁ½æëB3layer1/Add_5 = Add(layer1/Mul_3:1, layer1/MatMul_4)HÊ½æë‡
layer2/Relu_6õ½æë (:'%€"€€gpu_bfc(0õ¡½æëB5layer2/Relu_6 = Relu(layer1/MatMul_4, layer1/Add_5:1)Hò½æë­
layer2/Mul_7‚½æë (:'%€"€€gpu_bfc(0¢½æë:)%€"€€gpu_bfc(0Â½æëB1layer2/Mul_7 = Mul(layer1/Add_5:1, layer2/Relu_6)Hš‚½æë
Ş
/device:GPU:0/stream:all‡
volta_sgemm_add_128x64_nn¶€½æë (BRvolta_sgemm_add_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer0/Add_1:AddH³€½æë‹
volta_sgemm_relu_128x64_nnŞ€½æë (BUvolta_sgemm_relu_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer0/Relu_2:ReluHÛ€½æë‡
volta_sgemm_mul_128x64_nn†½æë (	BRvolta_sgemm_mul_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer1/Mul_3:MulHƒ½æë‡
volta_sgemm_add_128x64_nnÖ½æë 
(BRvolta_sgemm_add_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer1/Add_5:AddHÓ½æë‹
volta_sgemm_relu_128x64_nnş½æë (BUvolta_sgemm_relu_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer2/Relu_6:ReluHû½æë‡
volta_sgemm_mul_128x64_nn¦‚½æë (BRvolta_sgemm_mul_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer2/Mul_7:MulH£‚½æë
¥
/device:GPU:0/stream:14~
layer0/Add_1:Add¶€½æë (BRvolta_sgemm_add_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer0/Add_1:AddH³€½æëƒ
layer0/Relu_2:ReluŞ€½æë (BUvolta_sgemm_relu_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer0/Relu_2:ReluHÛ€½æë~
layer1/Mul_3:Mul†½æë (	BRvolta_sgemm_mul_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer1/Mul_3:MulHƒ½æë~
layer1/Add_5:AddÖ½æë 
(BRvolta_sgemm_add_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer1/Add_5:AddHÓ½æëƒ
layer2/Relu_6:Reluş½æë (BUvolta_sgemm_relu_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer2/Relu_6:ReluHû½æë~
layer2/Mul_7:Mul¦‚½æë (BRvolta_sgemm_mul_128x64_nn regs:32 shm:0 grid:9,1,1 block:128,1,1@@layer2/Mul_7:MulH£‚½æë
Ú
"/device:GPU:0/stream:15<MemcpyH2D>Y
	MemcpyH2D€½æë (B4MemcpyH2D bytes:1024 aync@@layer0/MatMul_0:Add#id=1#H‹€½æëY
	MemcpyH2D®½æë (B4MemcpyH2D bytes:2048 aync@@layer1/MatMul_4:Add#id=1#H«½æë
Ì
/device:GPU:0/memcpyY
	MemcpyH2D€½æë (B4MemcpyH2D bytes:1024 aync@@layer0/MatMul_0:Add#id=1#H‹€½æëY
	MemcpyH2D®½æë (B4MemcpyH2D bytes:2048 aync@@layer1/MatMul_4:Add#id=1#H«½æë