import fc from "fast-check";
import { SEED } from "./seed.js";

export { SEED };

fc.configureGlobal({ seed: SEED });
