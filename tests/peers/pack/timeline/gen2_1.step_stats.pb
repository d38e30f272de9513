
Щ
,/job:localhost/replica:0/task:0/device:CPU:03
_SOURCEЂЂђЅђжл (B_SOURCE = NoOp()HэяЏЅђжлj
layer0/MatMul_0…ЂђЅђжл G(H:#!Ђ"ЂЂcpu(0… ђЅђжлBlayer0/MatMul_0 = MatMul()H‚ЂђЅђжл‡
layer1/MatMul_4ҐЃђЅђжл (:#!Ђ"ЂЂcpu(0ҐЎђЅђжлB7layer1/MatMul_4 = MatMul(layer0/Relu_2, layer1/Mul_3:1)HўЃђЅђжл
у
,/job:localhost/replica:0/task:0/device:GPU:0џ
layer0/Add_1­ЂђЅђжл (:'%Ђ"ЂЂgpu_bfc(0­ ђЅђжл:)%Ђ"ЂЂgpu_bfc(0­АђЅђжлB#layer0/Add_1 = Add(layer0/MatMul_0)HЄЂђЅђжл“
layer0/Relu_2ХЂђЅђжл (:'%Ђ"Ђ Ђ gpu_bfc(0Х ђЅђжлBAlayer0/Relu_2 = Relu(layer0/MatMul_0, layer0/Add_1:1, missing/in)HТЂђЅђжл­
layer1/Mul_3эЂђЅђжл G(H:'%Ђ"ЂЂgpu_bfc(0э ђЅђжл:)%Ђ"ЂЂgpu_bfc(0эАђЅђжлB1layer1/Mul_3 = Mul(layer0/Add_1:1, layer0/Relu_2)HъЂђЅђжлY
layer1/Mul_3ЖЃђЅђжл (B1layer1/Mul_3 = Mul(layer0/Add_1:1, layer0/Relu_2)HГЃђЅђжлЕ
layer1/Add_5НЃђЅђжл (:'%Ђ"Ђ Ђ gpu_bfc(0НЎђЅђжл:)%Ђ"Ђ Ђ gpu_bfc(0НБђЅђжлBI[gpu_bfc 1.0MB 2.0MB] layer1/Add_5 = Add(layer1/Mul_3:1, layer1/MatMul_4)HКЃђЅђжл‡
layer2/Relu_6хЃђЅђжл G(H:'%Ђ"ЂЂgpu_bfc(0хЎђЅђжлB5layer2/Relu_6 = Relu(layer1/MatMul_4, layer1/Add_5:1)HтЃђЅђжл­
layer2/Mul_7ќ‚ђЅђжл (:'%Ђ"ЂЂgpu_bfc(0ќўђЅђжл:)%Ђ"ЂЂgpu_bfc(0ќВђЅђжлB1layer2/Mul_7 = Mul(layer1/Add_5:1, layer2/Relu_6)Hљ‚ђЅђжл
Ю
/device:GPU:0/stream:allH
"edge_7_layer0/MatMul_0::MEMCPYHtoDЋЂђЅђжл (B
1024 bytesH‹ЂђЅђжлE
+layer0/Add_1:Add::volta_sgemm_add_128x64_nn¶ЂђЅђжл (HіЂђЅђжлH
.layer0/Relu_2:Relu::volta_sgemm_relu_128x64_nnЮЂђЅђжл (HЫЂђЅђжлE
+layer1/Mul_3:Mul::volta_sgemm_mul_128x64_nn†ЃђЅђжл (	HѓЃђЅђжлH
"edge_7_layer1/MatMul_4::MEMCPYHtoD®ЃђЅђжл (B
2048 bytesH«ЃђЅђжлE
+layer1/Add_5:Add::volta_sgemm_add_128x64_nnЦЃђЅђжл 
(HУЃђЅђжлH
.layer2/Relu_6:Relu::volta_sgemm_relu_128x64_nnюЃђЅђжл (HыЃђЅђжлE
+layer2/Mul_7:Mul::volta_sgemm_mul_128x64_nn¦‚ђЅђжл (HЈ‚ђЅђжл
Ч
%/gpu:0 (Tesla P40)/context#0/stream#1E
+layer0/Add_1:Add::volta_sgemm_add_128x64_nn¶ЂђЅђжл (HіЂђЅђжлH
.layer0/Relu_2:Relu::volta_sgemm_relu_128x64_nnЮЂђЅђжл (HЫЂђЅђжлE
+layer1/Mul_3:Mul::volta_sgemm_mul_128x64_nn†ЃђЅђжл (	HѓЃђЅђжлE
+layer1/Add_5:Add::volta_sgemm_add_128x64_nnЦЃђЅђжл 
(HУЃђЅђжлH
.layer2/Relu_6:Relu::volta_sgemm_relu_128x64_nnюЃђЅђжл (HыЃђЅђжлE
+layer2/Mul_7:Mul::volta_sgemm_mul_128x64_nn¦‚ђЅђжл (HЈ‚ђЅђжл
Ж
0/gpu:0 (Tesla P40)/context#0/stream#3:MemcpyHtoDH
"edge_7_layer0/MatMul_0::MEMCPYHtoDЋЂђЅђжл (B
1024 bytesH‹ЂђЅђжлH
"edge_7_layer1/MatMul_4::MEMCPYHtoD®ЃђЅђжл (B
2048 bytesH«ЃђЅђжл