import { writeNights, NIGHT } from "./lakes/night-lake.js";
import { writeYear } from "./lakes/year-of-minutes.js";
import { Session } from "../src/db/session/session.js";
const years = Array.from({ length: 10 }, (_, n) => 2016 + n);
const lake = await writeNights("/tmp/w/ui-scratch/large", { symbols: 5500, years, nights: 100 }, NIGHT);
console.log("days", new Date().toISOString());
using session = await Session.open({ memoryLimit: "3GB", threads: 2, spillUnder: lake.work.staging });
await writeYear(session, lake, { symbols: 800, months: 12 });
console.log("minutes", new Date().toISOString());
