
Щ
,/job:localhost/replica:0/task:0/device:CPU:03
_SOURCEЂЂђЅђжл (B_SOURCE = NoOp()HэяЏЅђжлj
layer0/MatMul_0…ЂђЅђжл (:#!Ђ"ЂЂcpu(0… ђЅђжлBlayer0/MatMul_0 = MatMul()H‚ЂђЅђжл‡
layer1/MatMul_4ҐЃђЅђжл (:#!Ђ"ЂЂcpu(0ҐЎђЅђжлB7layer1/MatMul_4 = MatMul(layer0/Relu_2, layer1/Mul_3:1)HўЃђЅђжл
ц
,/job:localhost/replica:0/task:0/device:GPU:0џ
layer0/Add_1­ЂђЅђжл (:'%Ђ"ЂЂgpu_bfc(0­ ђЅђжл:)%Ђ"ЂЂgpu_bfc(0­АђЅђжлB#layer0/Add_1 = Add(layer0/MatMul_0)HЄЂђЅђжл‡
layer0/Relu_2ХЂђЅђжл (:'%Ђ"Ђ Ђ gpu_bfc(0Х ђЅђжлB5layer0/Relu_2 = Relu(layer0/MatMul_0, layer0/Add_1:1)HТЂђЅђжл­
layer1/Mul_3эЂђЅђжл (:'%Ђ"ЂЂgpu_bfc(0э ђЅђжл:)%Ђ"ЂЂgpu_bfc(0эАђЅђжлB1layer1/Mul_3 = Mul(layer0/Add_1:1, layer0/Relu_2)HъЂђЅђжлЇ
layer1/Add_5НЃђЅђжл (:'%Ђ"Ђ Ђ gpu_bfc(0НЎђЅђжл:)%Ђ"Ђ Ђ gpu_bfc(0НБђЅђжлB3layer1/Add_5 = Add(layer1/Mul_3:1, layer1/MatMul_4)HКЃђЅђжл‡
layer2/Relu_6хЃђЅђжл (:'%Ђ"ЂЂgpu_bfc(0хЎђЅђжлB5layer2/Relu_6 = Relu(layer1/MatMul_4, layer1/Add_5:1)HтЃђЅђжл­
layer2/Mul_7ќ‚ђЅђжл (:'%Ђ"ЂЂgpu_bfc(0ќўђЅђжл:)%Ђ"ЂЂgpu_bfc(0ќВђЅђжлB1layer2/Mul_7 = Mul(layer1/Add_5:1, layer2/Relu_6)Hљ‚ђЅђжл
ц
/device:GPU:0/stream:allT
layer0/MatMul_0:MEMCPYHtoDЋЂђЅђжл (BMEMCPYHtoD 1024 bytes (1 to 2)H‹ЂђЅђжлE
layer0/Add_1:Add¶ЂђЅђжл (Bvolta_sgemm_add_128x64_nnHіЂђЅђжлH
layer0/Relu_2:ReluЮЂђЅђжл (Bvolta_sgemm_relu_128x64_nnHЫЂђЅђжлE
layer1/Mul_3:Mul†ЃђЅђжл (	Bvolta_sgemm_mul_128x64_nnHѓЃђЅђжлT
layer1/MatMul_4:MEMCPYHtoD®ЃђЅђжл (BMEMCPYHtoD 2048 bytes (1 to 2)H«ЃђЅђжлE
layer1/Add_5:AddЦЃђЅђжл 
(Bvolta_sgemm_add_128x64_nnHУЃђЅђжлH
layer2/Relu_6:ReluюЃђЅђжл (Bvolta_sgemm_relu_128x64_nnHыЃђЅђжлE
layer2/Mul_7:Mul¦‚ђЅђжл (Bvolta_sgemm_mul_128x64_nnHЈ‚ђЅђжл
И
/device:GPU:0/stream:7E
layer0/Add_1:Add¶ЂђЅђжл (Bvolta_sgemm_add_128x64_nnHіЂђЅђжлH
layer0/Relu_2:ReluЮЂђЅђжл (Bvolta_sgemm_relu_128x64_nnHЫЂђЅђжлE
layer1/Mul_3:Mul†ЃђЅђжл (	Bvolta_sgemm_mul_128x64_nnHѓЃђЅђжлE
layer1/Add_5:AddЦЃђЅђжл 
(Bvolta_sgemm_add_128x64_nnHУЃђЅђжлH
layer2/Relu_6:ReluюЃђЅђжл (Bvolta_sgemm_relu_128x64_nnHыЃђЅђжлE
layer2/Mul_7:Mul¦‚ђЅђжл (Bvolta_sgemm_mul_128x64_nnHЈ‚ђЅђжл
В
/device:GPU:0/memcpyT
layer0/MatMul_0:MEMCPYHtoDЋЂђЅђжл (BMEMCPYHtoD 1024 bytes (1 to 2)H‹ЂђЅђжлT
layer1/MatMul_4:MEMCPYHtoD®ЃђЅђжл (BMEMCPYHtoD 2048 bytes (1 to 2)H«ЃђЅђжл