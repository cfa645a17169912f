import type { Pipeline } from "../../jobs/pipeline/definition.js";
import { type ScheduleRule, zoneOf } from "../../plan/due-times.js";

/** A pipeline's schedule in words: "18:30 Shanghai, 21:30 New York on trading days". */
export function scheduleText(rules: readonly ScheduleRule[]): string {
  if (rules.length === 0) return "never";
  const byDays = new Map<string, string[]>();
  for (const rule of rules) {
    const days = rule.days === "trading" ? " on trading days" : "cron" in rule ? "" : " every day";
    byDays.set(days, [...(byDays.get(days) ?? []), timesText(rule)]);
  }
  return [...byDays].map(([days, times]) => `${times.join(", ")}${days}`).join("; ");
}

function timesText(rule: ScheduleRule): string {
  const times = "cron" in rule ? `cron ${rule.cron}` : rule.at.join(" and ");
  return `${times} ${zoneOf(rule.region).split("/").at(-1)?.replaceAll("_", " ")}`;
}

/** What a pipeline asks for, in words. */
export function windowText(pipeline: Pipeline): string {
  switch (pipeline.kind) {
    case "reference":
      return `a snapshot every ${pipeline.refreshHours} h`;
    case "statements":
      return `all, every ${pipeline.refreshHours} h`;
    case "intraday":
      return "the latest day";
    case "files":
      return `${pipeline.from.replace(/\/+$/, "")}/${pipeline.pattern}`;
    case "bars": {
      const { from, to, lookback } = pipeline;
      const start = from.startsWith("-")
        ? `the last ${Number.parseInt(from.slice(1), 10)} days`
        : `from ${from}`;
      return `${start}${to === undefined ? "" : ` to ${to}`}${lookback === undefined ? "" : `, ${lookback} again`}`;
    }
  }
}

/** An instant for people: 2026-11-20 10:30:00, in UTC. */
export function instantText(at: number | Date | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString().slice(0, 19).replace("T", " ");
}
