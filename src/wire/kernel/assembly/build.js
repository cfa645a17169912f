/*
 * Compiles the number kernel to WebAssembly and writes it as a module, so that no file must be read at run time. It is
 * a part of `npm run build`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import asc from "assemblyscript/asc";

const TARGET = new URL("../kernel-binary.ts", import.meta.url);
/** Pages of 64 KiB that layout.ts needs. */
const PAGES = 6;

let binary;
const { error, stderr } = await asc.main(
  [
    "index.ts",
    ...["--outFile", "kernel.wasm"],
    ...["-O3", "--converge", "--noAssert"],
    ...["--enable", "simd", "--runtime", "stub", "--use", "abort="],
    ...["--initialMemory", `${PAGES}`, "--maximumMemory", `${PAGES}`],
  ],
  {
    readFile: (name) => readIfThere(new URL(name, import.meta.url)),
    writeFile: (_, contents) => {
      binary = Buffer.from(contents);
    },
    listFiles: () => [],
  },
);
if (error || binary === undefined) {
  throw new Error(`the number kernel does not compile:\n${stderr.toString()}`, { cause: error });
}

const module = `/** The compiled number kernel, in base64. */
export const KERNEL_BINARY: string =
  "${binary.toString("base64")}";
`;
if (readIfThere(TARGET) !== module) writeFileSync(TARGET, module);

function readIfThere(url) {
  try {
    return readFileSync(url, "utf8");
  } catch {
    return null;
  }
}
