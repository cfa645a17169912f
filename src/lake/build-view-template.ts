// A step of the build: makes the template from which the views of every lake are copied.
import { buildTemplate } from "../db/views/views.js";
import { TEMPLATE } from "./lake-views.js";

await buildTemplate(TEMPLATE);
