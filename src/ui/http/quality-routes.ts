import type { FastifyInstance } from "fastify";
import { UsageError } from "../../core/errors.js";
import { shellWord } from "../../core/shell-word.js";
import { parseTradingDate } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import { countGaps, gapSubjects, gapsOf, type LedgerGaps, ledgerGaps } from "../quality/coverage-findings.js";
import type { FindingsFilter } from "../quality/findings-sql.js";
import { KeptResults } from "../quality/kept-results.js";
import type {
  FindingsReport,
  ListPage,
  RuleCount,
  RulesReport,
  SubjectReport,
} from "../quality/quality-data.js";
import { type QualityRule, qualityRules } from "../quality/quality-rules.js";
import { readEvidence } from "../quality/read-evidence.js";
import { countFindings, findingSubjects, findingsOf } from "../quality/read-findings.js";
import type { LakeState } from "../session/lake-states.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { stateOf } from "./lake-routes.js";
import { dateOf, goneSignal, oneOf, queryOf, required } from "./request-use.js";

/** What the ledger says is compared again after this time: sessions begin, and what was open becomes due. */
const LEDGER_MS = 300_000;
/** Longest text of a symbol or a filter. */
const MOST_TEXT = 200;

/** Routes of the view Data quality. */
export function addQualityRoutes(app: FastifyInstance, parts: WorkspaceParts): void {
  const { lake, clock, readers, location } = parts;
  const rules = qualityRules();
  const kept = new KeptResults();
  // No page's going ends what is kept: others may wait for the same.
  const read = <T>(state: LakeState, key: string, work: (session: Session) => Promise<T>): Promise<T> =>
    kept.of(`${state.id} ${key}`, () =>
      readers.use(state, { signal: new AbortController().signal }, ({ session }) => work(session)),
    );
  const gapsIn = (state: LakeState): Promise<LedgerGaps> =>
    kept.of(`${state.id} ledger ${Math.floor(clock.now() / LEDGER_MS)}`, () =>
      readers.use(state, { signal: new AbortController().signal }, (reader) =>
        ledgerGaps({ reader, lake, clock }),
      ),
    );
  const ruleOf = (query: ReadonlyMap<string, string>): QualityRule => {
    const name = oneOf(
      query,
      "rule",
      rules.map((rule) => rule.name),
    );
    return rules.find((rule) => rule.name === name) as QualityRule;
  };
  app.get("/api/quality/rules", async (): Promise<RulesReport> => {
    const of = `--lake ${shellWord(location)}`;
    return {
      rules: rules.map(({ name, severity, explanation }) => ({ name, severity, explanation })),
      command: `npx barlake check --audits ${of}`,
      damage: `npx barlake check --deep ${of}`,
    };
  });
  app.get("/api/quality/count", async (request): Promise<RuleCount> => {
    const rule = ruleOf(queryOf(request));
    const state = stateOf(request, parts);
    if (!rule.isVersioned && state.asOf !== undefined) return { counts: [], unknown: "past" };
    if (!isSql(rule)) return countGaps(await gapsIn(state), rule);
    const counts = await read(state, `count ${rule.name}`, (session) => countFindings(session, rule));
    return { counts, unknown: null };
  });
  app.get("/api/quality/subjects", async (request): Promise<ListPage<SubjectReport>> => {
    const query = queryOf(request);
    const rule = ruleOf(query);
    const state = stateOf(request, parts);
    const [filter, page] = [filterOf(query), pageOf(query)];
    if (!isSql(rule)) return gapSubjects(known(await gapsIn(state)), rule, filter, page);
    return read(state, `subjects ${rule.name} ${JSON.stringify(filter)} ${page}`, (session) =>
      findingSubjects(session, rule, filter, page),
    );
  });
  app.get("/api/quality/findings", async (request): Promise<FindingsReport> => {
    const query = queryOf(request);
    const rule = ruleOf(query);
    const state = stateOf(request, parts);
    const subject = textIn(query, "subject");
    const [filter, page] = [filterOf(query), pageOf(query)];
    if (!isSql(rule)) return gapsOf(known(await gapsIn(state)), rule, subject, filter, page, location);
    return read(state, `findings ${rule.name} ${subject} ${JSON.stringify(filter)} ${page}`, (session) =>
      findingsOf(session, rule, subject, filter, page, location),
    );
  });
  app.get("/api/quality/evidence", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const first = parseTradingDate(required(query, "first"));
    const wanted = {
      subject: textIn(query, "subject"),
      evidence: oneOf(query, "evidence", ["days", "minutes", "minute days"] as const),
      first,
      last: dateOf(query, "last") ?? first,
      at: instantIn(query),
    };
    return readers.use(stateOf(request, parts), { signal }, ({ session }) => readEvidence(session, wanted));
  });
}

function isSql(rule: QualityRule): rule is QualityRule & { readonly sql: string } {
  return rule.sql !== undefined;
}

function known(gaps: LedgerGaps): NonNullable<LedgerGaps> {
  return gaps ?? new Map();
}

function filterOf(query: ReadonlyMap<string, string>): FindingsFilter {
  return {
    region: query.get("region"),
    symbol: query.get("symbol")?.slice(0, MOST_TEXT),
    from: dateOf(query, "from"),
    to: dateOf(query, "to"),
  };
}

function pageOf(query: ReadonlyMap<string, string>): number {
  return Math.max(1, Math.trunc(Number(query.get("page") ?? 1)) || 1);
}

/** A text that need not be a symbol: rows are set aside because theirs is none. */
function textIn(query: ReadonlyMap<string, string>, name: string): string {
  return required(query, name).slice(0, MOST_TEXT);
}

function instantIn(query: ReadonlyMap<string, string>): number | undefined {
  const text = query.get("at");
  if (text === undefined || text === "") return undefined;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  throw new UsageError("at: is no time", { hint: "write it like 2026-11-20T08:30:00Z" });
}
