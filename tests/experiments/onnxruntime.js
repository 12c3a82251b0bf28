// node onnxruntime.js PACKAGES MODEL.onnx INPUT OUTPUT EXTENT... : runs a model with one input by ONNX Runtime.
// INPUT holds FP32 numbers of these extents, OUTPUT is the first output in FP32, both without a header.
"use strict";
const fs = require("fs");
const path = require("path");

async function main() {
  const [packages, model, input, output, ...extents] = process.argv.slice(2);
  const runtime = require(path.join(packages, "node_modules", "onnxruntime-node"));
  const session = await runtime.InferenceSession.create(model, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const bytes = fs.readFileSync(input);
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const feeds = { [session.inputNames[0]]: new runtime.Tensor("float32", numbers, extents.map(Number)) };
  const results = await session.run(feeds);
  const values = results[session.outputNames[0]];
  fs.writeFileSync(output, Buffer.from(values.data.buffer, values.data.byteOffset, values.data.byteLength));
  console.log(values.dims.join(" "));
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
