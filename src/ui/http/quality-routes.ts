import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { UsageError } from "../../core/errors.js";
import { shellWord } from "../../core/text-order.js";
import { parseTradingDate } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import { countGaps, gapSubjects, gapsOf, type LedgerGaps, ledgerGaps } from "../quality/coverage-findings.js";
import {
  type FindingReport,
  type FindingsReport,
  type ListPage,
  listPage,
  pageWithin,
  type RuleCount,
  type RulesReport,
  type SubjectReport,
} from "../quality/quality-data.js";
import { type QualityRule, qualityRules } from "../quality/quality-rules.js";
import {
  countFindings,
  type FindingsFilter,
  findingSubjects,
  findingsOf,
  readEvidence,
} from "../quality/read-findings.js";
import type { LakeState } from "../session/lake-states.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { stateOf } from "./lake-routes.js";
import { dateOf, goneSignal, oneOf, queryOf, ResultCache, required } from "./request-use.js";

/** The ledger is compared again after this time in milliseconds, because sessions begin and holes become due. */
const LEDGER_MS = 300_000;
/** Most pages of lists, and counts of rules, that are cached. */
const MOST_CACHED = 200;
/** Most ledgers that are cached. Each contains the gaps of every symbol. */
const MOST_LEDGERS = 2;
const MOST_TEXT = 200;

/** The subject of a request, and a signal that aborts when its page is closed. */
interface Asked {
  readonly state: LakeState;
  readonly gone: AbortSignal;
}

export function addQualityRoutes(app: FastifyInstance, parts: WorkspaceParts): void {
  const { lake, clock, readers, location } = parts;
  const rules = qualityRules();
  const cache = new ResultCache(MOST_CACHED);
  const ledgers = new ResultCache(MOST_LEDGERS);
  const read = <T>({ state, gone }: Asked, key: string, work: (session: Session) => Promise<T>): Promise<T> =>
    cache.of(`${state.id} ${key}`, gone, (signal) =>
      readers.use(state, { signal }, ({ session }) => work(session)),
    );
  const gapsIn = ({ state, gone }: Asked): Promise<LedgerGaps> =>
    ledgers.of(`${state.id} ${Math.floor(clock.now() / LEDGER_MS)}`, gone, (signal) =>
      readers.use(state, { signal }, (reader) => ledgerGaps({ reader, lake, clock })),
    );
  const asked = (request: FastifyRequest, reply: FastifyReply): Asked => ({
    state: stateOf(request, parts),
    gone: goneSignal(reply),
  });
  const ruleOf = (query: ReadonlyMap<string, string>): QualityRule => {
    const name = oneOf(
      query,
      "rule",
      rules.map((rule) => rule.name),
    );
    return rules.find((rule) => rule.name === name) as QualityRule;
  };
  app.get("/api/quality/rules", async (): Promise<RulesReport> => {
    const shown = shellWord(location);
    return {
      rules: rules.map(({ name, severity, explanation }) => ({ name, severity, explanation })),
      command: `npx barlake check --audits --lake ${shown}`,
      damage: `npx barlake check --deep --lake ${shown}`,
    };
  });
  app.get("/api/quality/count", async (request, reply): Promise<RuleCount> => {
    const rule = ruleOf(queryOf(request));
    const use = asked(request, reply);
    if (isPast(rule, use.state)) return { counts: [], unknown: "past" };
    if (!isSql(rule)) return countGaps(await gapsIn(use), rule);
    const counts = await read(use, `count ${rule.name}`, (session) => countFindings(session, rule));
    return { counts, unknown: null };
  });
  app.get("/api/quality/subjects", async (request, reply): Promise<ListPage<SubjectReport>> => {
    const query = queryOf(request);
    const rule = ruleOf(query);
    const use = asked(request, reply);
    const filter = filterOf(query);
    if (isPast(rule, use.state)) return { ...listPage<SubjectReport>([], 0, 1), unknown: "past" };
    if (isSql(rule))
      return pageWithin(pageOf(query), (page) =>
        read(use, `subjects ${rule.name} ${JSON.stringify(filter)} ${page}`, (session) =>
          findingSubjects(session, rule, filter, page),
        ),
      );
    const gaps = await gapsIn(use);
    if (gaps === undefined) return { ...listPage<SubjectReport>([], 0, 1), unknown: "imported" };
    return pageWithin(pageOf(query), (page) => gapSubjects(gaps, rule, filter, page));
  });
  app.get("/api/quality/findings", async (request, reply): Promise<FindingsReport> => {
    const query = queryOf(request);
    const rule = ruleOf(query);
    const use = asked(request, reply);
    const subject = required(query, "subject");
    const filter = filterOf(query);
    const none = { ...listPage<FindingReport>([], 0, 1), columns: [] };
    if (isPast(rule, use.state)) return { ...none, unknown: "past" };
    if (isSql(rule))
      return pageWithin(pageOf(query), (page) =>
        read(use, `findings ${rule.name} ${subject} ${JSON.stringify(filter)} ${page}`, (session) =>
          findingsOf(session, rule, subject, filter, page, location),
        ),
      );
    const gaps = await gapsIn(use);
    if (gaps === undefined) return { ...none, unknown: "imported" };
    return pageWithin(pageOf(query), (page) => gapsOf(gaps, rule, subject, filter, page, location));
  });
  app.get("/api/quality/evidence", async (request, reply) => {
    const signal = goneSignal(reply);
    const query = queryOf(request);
    const first = parseTradingDate(required(query, "first"));
    const wanted = {
      subject: required(query, "subject"),
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

/** Whether a state is of the past, and the rule compares data without earlier versions. */
function isPast(rule: QualityRule, { asOf, known }: LakeState): boolean {
  return !rule.isVersioned && (asOf !== undefined || known !== undefined);
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

function instantIn(query: ReadonlyMap<string, string>): number | undefined {
  const text = query.get("at");
  if (text === undefined || text === "") return undefined;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  throw new UsageError("at: is no time", { hint: "write it like 2026-11-20T08:30:00Z" });
}
