import fc from "fast-check";
import { SEED } from "./seed.js";
import "./threads.mjs";

export { SEED };

fc.configureGlobal({ seed: SEED });
