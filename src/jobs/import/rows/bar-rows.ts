import { DAY_MS, MINUTE_MS } from "../../../core/time.js";
import { hasOwnSessionsSql, lotSql, perRegion, unknownSessionsSql } from "../../../db/market/region-sql.js";
import { ident, literal } from "../../../db/quote.js";
import { countRows } from "../../../db/session/count-rows.js";
import { type Session, TempTable } from "../../../db/session/session.js";
import { isMinutes } from "../../../lake/land/land-bars.js";
import { REGION_NAMES, REGIONS, type Region } from "../../../market/regions.js";
import { possibleEnds } from "../../../market/sessions.js";
import { instantOfDay } from "../../../market/zone.js";
import { KLINE_COLUMNS } from "../../../schema/bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { EARLIEST_MS } from "../../../wire/decode/time-issues.js";
import type { DecimalMark, ImportOptions } from "../import-options.js";
import type { ChosenColumns } from "../plan/choose-columns.js";
import type { EvidenceSource } from "./bar-evidence.js";
import {
  distinctTexts,
  divideByOrder,
  fillSymbols,
  fillTimes,
  insertObjects,
  type TimeText,
} from "./distinct-texts.js";
import {
  formOf,
  isReadDirectly,
  NO_TIME,
  plainNumbers,
  readOddNumbers,
  type TextForm,
  textExpression,
  timeExpressions,
} from "./number-sql.js";
import type { OpenGroup, SourceColumn } from "./raw-rows.js";
import { BESIDE } from "./split-bars.js";

/** Columns of which a bar must have a value. `amount` is 0 where it is not known. */
const REQUIRED = ["open", "high", "low", "close", "volume"] as const;
/** Numbers of files of bars. `lot`: the shares in one unit of the volume, as the lake exports it. */
const NUMBERS = [...KLINE_COLUMNS.map(({ name }) => name), "lot", ...BESIDE];
/** Rows among which the first ones that land are looked for. */
const MOST_BEGUN = 4096;
/** Above this number, doubles skip whole numbers. */
const EXACT = 2 ** 53;

/** SQL of whether a symbol is of an exchange whose sessions are not known. */
const HAS_OWN_SESSIONS = hasOwnSessionsSql("symbol");
export interface FileRule {
  readonly place: number;
  readonly path: string;
  /** Physical line of the first row; 1 where rows are counted. */
  readonly firstLine: number;
  readonly isRefused: boolean;
  readonly ownDates: boolean;
  readonly shiftMinutes: number;
  /** Shares in one unit of its volumes; undefined: lots of the instrument. */
  readonly volumeFactor: number | undefined;
  readonly amountFactor: number;
}

/**
 * The rows of all files of bars, with their texts read as numbers and times: on a temporary table, so that the number of rows
 * does not matter.
 */
export class BarRows implements AsyncDisposable {
  readonly #session: Session;
  readonly #table: TableSchema;
  readonly #options: ImportOptions;
  readonly #now: number;
  readonly #raw: TempTable;
  readonly #symbols: TempTable;
  readonly #times: TempTable;
  readonly #days: TempTable;
  readonly #files: TempTable;
  readonly #lots: TempTable;
  readonly #numbers = new Set<string>();
  #hasTexts = false;
  #firstRows: ReadonlyMap<number, number> = new Map();
  #hasClocks = false;
  /** Whether numbers of the files that were read last have a comma, or cannot be read. */
  #doubtful = false;
  /** The number of the form of the files that were read last. */
  #form = 0;

  constructor(session: Session, table: TableSchema, options: ImportOptions, now: number) {
    this.#session = session;
    this.#table = table;
    this.#options = options;
    this.#now = now;
    const named = (name: string): TempTable => new TempTable(session, name);
    this.#raw = named("raw_bars");
    this.#symbols = named("import_symbols");
    this.#times = named("import_times");
    this.#days = named("import_days");
    this.#files = named("import_files");
    this.#lots = named("import_lots");
  }

  async create(): Promise<void> {
    await this.#raw.define(
      "file INTEGER, form INTEGER, symbol VARCHAR, day DATE, wall TIMESTAMP, instant BIGINT, time_text VARCHAR, odd VARCHAR",
    );
    await this.#addColumns(REQUIRED);
    await this.#files.define(FILE_COLUMNS);
    await this.#lots.define("symbol VARCHAR, lot DOUBLE");
  }

  /** Reads a group of files. @param symbol SQL of the text of the symbol, where no column has it. */
  async add(
    group: OpenGroup,
    { fields }: ChosenColumns,
    symbol: string | undefined,
    mark: DecimalMark,
  ): Promise<void> {
    const column = (field: string) => {
      const found = fields.get(field);
      return found && group.columns[found.index];
    };
    const numbers = NUMBERS.filter((name) => column(name) !== undefined);
    const time = column("timestamp");
    const clock = column("time_of_day");
    if (time === undefined) return;
    const form = await this.#formOf(group, time);
    const digits = clock === undefined ? 0 : await this.#clockDigits(group, clock);
    const times = timeExpressions(time, clock, isMinutes(this.#table), form, digits);
    const symbolText = column("symbol");
    const sources = new Map(numbers.map((name) => [`n_${name}`, column(name) as SourceColumn]));
    const plain = plainNumbers(sources, mark);
    await this.#addColumns(numbers);
    this.#form += 1;
    const select = [
      ...numbers.map((name) => ident(`n_${name}`)),
      ...(times.day === NO_TIME.day ? [] : ["day"]),
      ...(times.wall === NO_TIME.wall ? [] : ["wall"]),
      ...(times.at === NO_TIME.at ? [] : ["instant"]),
      `CASE WHEN ${["day", "wall", "instant"].map((name) => `${name} IS NULL`).join(" AND ")} THEN time_text END AS time_text`,
      `${plain.odd} AS odd`,
    ];
    await this.#session.run(`INSERT INTO ${this.#raw.name} BY NAME
      SELECT file, ${this.#form}::INTEGER AS form, symbol, ${select.join(", ")}
      FROM (SELECT file, ${symbol ?? (symbolText === undefined ? "NULL" : textExpression(symbolText))} AS symbol,
        ${times.day} AS day, ${times.wall} AS wall, ${times.at} AS instant, ${times.text} AS time_text, ${plain.inner.join(", ")}
        FROM ${group.from})`);
    const texts = [...sources].filter(([, source]) => !isReadDirectly(source)).map(([name]) => name);
    const odd =
      texts.length > 0 ? await readOddNumbers(this.#session, this.#raw.name, this.#form, texts, mark) : 0;
    this.#doubtful = odd > 0;
  }

  async #formOf(group: OpenGroup, time: SourceColumn): Promise<TextForm> {
    if (this.#options.dateFormat !== undefined) return "given";
    if (time.type !== "VARCHAR") return "other";
    const rows = await this.#session.json<{ text: string }>(
      `SELECT ${time.sql} AS text FROM ${group.from} WHERE ${time.sql} IS NOT NULL LIMIT 1`,
    );
    return formOf(rows[0]?.text ?? "");
  }

  /** The most digits of the times of day that are numbers; 0 where none is, or one is longer than 93000. */
  async #clockDigits(group: OpenGroup, clock: SourceColumn): Promise<number> {
    const text = textExpression(clock);
    const [found] = await this.#session.json<{ digits: number }>(
      `SELECT coalesce(max(len(${text})), 0)::INTEGER AS digits FROM ${group.from} WHERE regexp_full_match(${text}, '\\d+')`,
    );
    return found === undefined || found.digits > 6 ? 0 : found.digits;
  }

  async #addColumns(numbers: readonly string[]): Promise<void> {
    for (const name of numbers) {
      if (this.#numbers.has(name)) continue;
      this.#numbers.add(name);
      await this.#session.run(`ALTER TABLE ${this.#raw.name} ADD COLUMN ${ident(`n_${name}`)} DOUBLE`);
    }
  }

  async remove(places: readonly number[]): Promise<void> {
    await this.#session.run(`DELETE FROM ${this.#raw.name} WHERE file IN (${places.join(", ")})`);
  }

  /** Whether numbers of the files that were read last may have another decimal mark. */
  get hasDoubtfulNumbers(): boolean {
    return this.#doubtful;
  }

  /** Reads symbols and times: each different text once. */
  async read(): Promise<void> {
    const { name } = this.#raw;
    const symbols = await distinctTexts(this.#session, "symbol", name);
    await fillSymbols(this.#session, this.#symbols, symbols, this.#options.exchange);
    await divideByOrder(this.#session, name);
    const texts = await this.#session.json<TimeText>(
      `SELECT DISTINCT form, 'timestamp' AS field, time_text AS text FROM ${name} WHERE time_text IS NOT NULL`,
    );
    this.#hasTexts = texts.length > 0;
    const { dateFormat, zone } = this.#options;
    await fillTimes(this.#session, this.#times, texts, { format: dateFormat, zone });
    const [times] = await this.#session.json<{ walls: number; instants: number }>(
      `SELECT count(wall)::DOUBLE AS walls, count(instant)::DOUBLE AS instants FROM ${name}`,
    );
    this.#hasClocks = this.#hasTexts || (times?.walls ?? 0) > 0 || (times?.instants ?? 0) > 0;
    const readings = this.#hasTexts ? ["false", "true"] : ["false"];
    const keys = await this.#session.json<{ region: Region; day: number }>(
      readings
        .map(
          (utc) =>
            `SELECT DISTINCT region, (day - DATE '1970-01-01')::INTEGER AS day FROM ${this.#timed(utc)} WHERE region IS NOT NULL AND day IS NOT NULL`,
        )
        .join(" UNION "),
    );
    const rows = keys.map(({ region, day }) => {
      const noon = instantOfDay(day, REGIONS[region].zone, 12 * 60);
      const wallNoon = zone === undefined ? noon : instantOfDay(day, zone, 12 * 60);
      return {
        region,
        day,
        midnight: instantOfDay(day, REGIONS[region].zone),
        ahead: day * DAY_MS + DAY_MS / 2 - noon,
        wall_ahead: day * DAY_MS + DAY_MS / 2 - wallNoon,
      };
    });
    await this.#days.define("region VARCHAR, day DATE, midnight BIGINT, ahead BIGINT, wall_ahead BIGINT");
    const raw = new TempTable(this.#session, "day_numbers");
    const columns = {
      region: "VARCHAR",
      day: "INTEGER",
      midnight: "BIGINT",
      ahead: "BIGINT",
      wall_ahead: "BIGINT",
    };
    await raw.define(
      Object.entries(columns)
        .map(([column, type]) => `${column} ${type}`)
        .join(", "),
    );
    await insertObjects(this.#session, raw.name, rows, columns);
    await this.#session.run(
      `INSERT INTO ${this.#days.name} SELECT region, DATE '1970-01-01' + day, midnight, ahead, wall_ahead FROM ${raw.name}`,
    );
    await raw.drop();
  }

  /** The reason, by file, for which most rows have no certain symbol or time, and which an option would decide. */
  async undecided(share: number): Promise<Map<number, string>> {
    const found = await this.#session.json<{ file: number; reason: string }>(
      `SELECT file, first(reason) FILTER (reason IS NOT NULL) AS reason FROM (
         SELECT file, CASE WHEN symbol_reason LIKE '%' || chr(96) || '%' THEN symbol_reason WHEN time_kind = 'unclear' THEN 'timestamp ' || time_reason END AS reason
         FROM ${this.#timed("false")}) GROUP BY file HAVING count(reason) > count(*) * ${share}`,
    );
    return new Map(found.map(({ file, reason }) => [file, reason]));
  }

  get source(): EvidenceSource {
    return {
      session: this.#session,
      isMinute: isMinutes(this.#table),
      hasClocks: this.#hasClocks,
      numbers: this.#numbers,
      raw: this.#raw.name,
      rows: isMinutes(this.#table)
        ? `(SELECT * FROM ${this.#localMinutes()} WHERE NOT ${HAS_OWN_SESSIONS})`
        : this.#timed("false"),
    };
  }

  /** Symbols of Hong Kong whose files count in lots. */
  async symbolsOf(region: Region): Promise<string[]> {
    const rows = await this.#session.json<{ symbol: string }>(
      `SELECT DISTINCT symbol FROM ${this.#symbols.name} WHERE region = ${literal(region)} ORDER BY symbol`,
    );
    return rows.map(({ symbol }) => symbol);
  }

  /** By file: how many volumes have a fraction. */
  async fractions(): Promise<Map<number, number>> {
    const rows = await this.#session.json<{ file: number; n: number }>(
      `SELECT file, count(*)::DOUBLE AS n FROM ${this.#raw.name} WHERE n_volume <> round(n_volume) GROUP BY file`,
    );
    return new Map(rows.map(({ file, n }) => [file, n]));
  }

  /** Sets what becomes of the rows of each file. @param lots board lots by symbol, where the region has no lot of its own. */
  async decide(rules: readonly FileRule[], lots: ReadonlyMap<string, number>): Promise<void> {
    const firsts = await this.#session.json<{ file: number; first: number }>(
      `SELECT file, min(rowid)::DOUBLE AS first FROM ${this.#raw.name} GROUP BY file`,
    );
    const firstOf = new Map(firsts.map(({ file, first }) => [file, first]));
    this.#firstRows = firstOf;
    await insertObjects(
      this.#session,
      this.#files.name,
      rules.map((rule) => ({
        file: rule.place,
        path: rule.path,
        first_row: firstOf.get(rule.place) ?? 0,
        first_line: rule.firstLine,
        is_refused: rule.isRefused,
        own_dates: rule.ownDates,
        shift_ms: rule.shiftMinutes * MINUTE_MS,
        volume_factor: rule.volumeFactor ?? 1,
        in_lots: rule.volumeFactor === undefined,
        amount_factor: rule.amountFactor,
      })),
      FILE_TYPES,
    );
    const pairs = [...lots].map(([symbol, lot]) => ({ symbol, lot }));
    await insertObjects(this.#session, this.#lots.name, pairs, { symbol: "VARCHAR", lot: "DOUBLE" });
  }

  /** SQL of the rows that are bars, as `landBars` takes them. @param only a condition on them. */
  stagedSql(only = "true"): string {
    const values = [...this.#numbers]
      .filter((name) => name !== "volume" && name !== "lot" && !BESIDE.includes(name))
      .map((name) => {
        const value = ident(`n_${name}`);
        if (name === "amount") return `${value} * amount_factor AS amount`;
        return `${value} AS ${ident(name)}`;
      });
    const date = isMinutes(this.#table)
      ? `CAST(make_timestamp((instant + shift_ms + ahead) * 1000) AS DATE)`
      : "day";
    return `SELECT symbol, region, ${this.#timestamp()} AS timestamp, ${date} AS trade_date, ${values.join(", ")},
        CAST(CASE WHEN unit_lot > 1 AND n_volume = floor(n_volume) THEN n_volume ELSE shares END AS BIGINT) AS volume,
        CAST(CASE WHEN unit_lot > 1 AND n_volume = floor(n_volume) THEN unit_lot ELSE 1 END AS INTEGER) AS lot,
        path AS source, first_line + "row" - first_row AS line, file::BIGINT * 1099511627776 + "row" AS ordinal
      FROM ${this.#judged()} WHERE NOT is_bad AND ${only}`;
  }

  /** SQL of the rows that are set aside: the columns of the rejects. */
  rejectsSql(): string {
    const { name } = this.#table;
    const tests = [
      `WHEN symbol IS NULL THEN ['bad_symbol', coalesce(symbol_reason, 'the symbol is empty')]`,
      `WHEN time_kind = 'empty' OR (time_shown IS NULL AND instant IS NULL AND day IS NULL) THEN ['null_in_required', 'timestamp is empty']`,
      `WHEN time_kind = 'unclear' THEN ['unparsable', 'timestamp ' || time_reason]`,
      `WHEN time_kind = 'none' THEN ['unparsable', 'timestamp "' || left(time_shown, 40) || '" is no time']`,
      `WHEN NOT is_possible THEN ['out_of_range', 'timestamp "' || left(time_shown, 40) || '" is not of 1900 to 2200']`,
      `WHEN is_future THEN ['out_of_range', 'timestamp ' || coalesce(left(time_shown, 40), '') || ' is in the future']`,
      ...(isMinutes(this.#table)
        ? [
            `WHEN ${HAS_OWN_SESSIONS} THEN ['unknown_sessions', ${unknownSessionsSql("symbol")}]`,
            `WHEN is_date THEN ['unparsable', 'timestamp "' || left(time_shown, 40) || '" has no time of day']`,
          ]
        : []),
      `WHEN day IS NULL THEN ['unparsable', 'timestamp "' || left(coalesce(time_shown, ''), 40) || '" is no time']`,
      `WHEN odd IS NOT NULL THEN ['unparsable', odd || ' is not a number']`,
      ...REQUIRED.map((column) => `WHEN n_${column} IS NULL THEN ['null_in_required', '${column} is empty']`),
      `WHEN shares IS NULL AND n_volume >= ${EXACT} THEN ['out_of_range', 'volume ' || n_volume || ' is too large']`,
      `WHEN shares IS NULL THEN ['fraction_in_integer', 'volume ' || n_volume || ' is not a whole number: \`roundVolumes: true\` rounds it']`,
    ];
    return `SELECT path AS source, first_line + "row" - first_row AS line, coalesce(symbol, symbol_text) AS symbol, time_shown AS timestamp,
        verdict[1] AS rule, verdict[2] AS reason, NULL AS row
      FROM (SELECT *, CASE ${tests.join(" ")} ELSE ['unparsable', 'it is no bar of ${name}'] END AS verdict FROM ${this.#judged()} WHERE is_bad)`;
  }

  bad(): Promise<number> {
    return countRows(this.#session, `${this.#judged()} WHERE is_bad`);
  }

  /** The first rows of a file as they land; `row`: their number in the file, from 0. */
  async preview(place: number, limit: number): Promise<Record<string, unknown>[]> {
    const shown = isMinutes(this.#table)
      ? "strftime(timestamp, '%Y-%m-%dT%H:%M:%SZ')"
      : "CAST(trade_date AS VARCHAR)";
    const own = ["amount", "prev_close"].filter((name) => this.#numbers.has(name));
    const first = this.#firstRows.get(place) ?? 0;
    const rowsOf = (only: string): Promise<Record<string, unknown>[]> =>
      this.#session.json(
        `SELECT symbol, ${shown} AS timestamp, open, high, low, close, volume, ${own.map((name) => `${name}, `).join("")}lot,
           (line - (SELECT first_line FROM ${this.#files.name} WHERE file = ${place}))::DOUBLE AS "row"
         FROM (${this.stagedSql(only)}) ORDER BY ordinal LIMIT ${limit}`,
      );
    // Mostly the first rows are among the first thousands, which need no look at the others.
    const begun = await rowsOf(`file = ${place} AND "row" < ${first + MOST_BEGUN}`);
    return begun.length < limit ? rowsOf(`file = ${place}`) : begun;
  }

  /** Drops the rows: they have been copied. */
  async drop(): Promise<void> {
    await this.#raw.drop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const table of [this.#raw, this.#symbols, this.#times, this.#days, this.#files, this.#lots])
      await table[Symbol.asyncDispose]();
  }

  #timestamp(): string {
    return isMinutes(this.#table)
      ? "make_timestamptz((instant + shift_ms) * 1000)"
      : "make_timestamptz(midnight * 1000)";
  }

  /** Rows with their symbol and the date of their time. @param ownDates SQL of whether midnights have their own date. */
  #timed(ownDates: string): string {
    const regions = REGION_NAMES.map(
      (region) => `WHEN ${literal(region)} THEN t.${ident(`day_${region}`)}`,
    ).join(" ");
    const instantDay = `CASE WHEN ${ownDates} THEN coalesce(t.own_day, CASE s.region ${regions} END) ELSE CASE s.region ${regions} END END`;
    const epoch = (days: string): string => `(DATE '1970-01-01' + ${days})`;
    // Without an offset known yet, the date of an instant is that by the zone's standard time.
    const rough = `CAST(make_timestamp((r.instant + CASE s.region WHEN 'US' THEN -18000000 ELSE 28800000 END) * 1000) AS DATE)`;
    const text = this.#hasTexts;
    const days = [
      "r.day",
      ...(this.#hasClocks ? ["CAST(r.wall AS DATE)", rough] : []),
      ...(text ? [epoch(`coalesce(t.day, ${instantDay})`)] : []),
    ];
    const day = days.length === 1 ? days[0] : `coalesce(${days.join(", ")})`;
    const wall = text ? "coalesce(epoch_ms(r.wall), t.wall)" : "epoch_ms(r.wall)";
    const at = text ? "coalesce(r.instant, t.instant)" : "r.instant";
    const isDate = text ? "(r.day IS NOT NULL OR coalesce(t.kind = 'date', false))" : "r.day IS NOT NULL";
    const shown = `coalesce(${text ? "r.time_text, " : ""}CAST(r.day AS VARCHAR), CAST(r.wall AS VARCHAR), CAST(r.instant AS VARCHAR))`;
    return `(SELECT r.rowid AS "row", r.file, s.symbol, s.region, s.reason AS symbol_reason, r.symbol AS symbol_text,
        ${day} AS day, ${text ? epoch("t.own_day") : "NULL::DATE"} AS own_day, ${wall} AS wall_ms, ${at} AS given_at,
        coalesce(${wall}, ${at}) % ${DAY_MS} // ${MINUTE_MS} AS clock, ${isDate} AS is_date, ${shown} AS time_shown,
        ${text ? "t.kind" : "NULL::VARCHAR"} AS time_kind, ${text ? "t.reason" : "NULL::VARCHAR"} AS time_reason, r.odd,
        ${[...this.#numbers].map((name) => `r.${ident(`n_${name}`)}`).join(", ")}
      FROM ${this.#raw.name} r LEFT JOIN ${this.#symbols.name} s ON s.text = r.symbol
        ${text ? `LEFT JOIN ${this.#times.name} t ON t.text = r.time_text AND t.form = r.form` : ""})`;
  }

  /** Rows of minutes with their instant `at` and the local time there. */
  #localMinutes(): string {
    const at = "coalesce(v.given_at, v.wall_ms - d.wall_ahead)";
    return `(SELECT v.* REPLACE (coalesce(CAST(make_timestamp((${at} + d.ahead) * 1000) AS DATE), v.day) AS day), ${at} AS instant, d.ahead,
        ${at} + d.ahead AS local_ms, ((${at} + d.ahead) % ${DAY_MS} // ${MINUTE_MS}) AS minute_of_day
      FROM ${this.#timed("false")} v LEFT JOIN ${this.#days.name} d ON d.region = v.region AND d.day = v.day)`;
  }

  #judged(): string {
    const isMinute = isMinutes(this.#table);
    const rows = isMinute
      ? this.#localMinutes()
      : `(SELECT v.*, d.midnight, NULL::BIGINT AS instant FROM (SELECT * FROM ${this.#timedByFile()}) v
          LEFT JOIN ${this.#days.name} d ON d.region = v.region AND d.day = v.day)`;
    const instant = isMinute ? "v.instant" : "v.midnight";
    const own = this.#numbers.has("lot") ? "WHEN v.n_lot > 0 THEN v.n_lot " : "";
    const unit = `CASE ${own}WHEN f.in_lots THEN coalesce(l.lot, ${lotSql("v.region")}) ELSE f.volume_factor END`;
    const units = "v.n_volume * unit_lot";
    const round = this.#options.roundVolumes === true;
    const shares = round
      ? `round(${units})`
      : `CASE WHEN ${units} = round(${units}) OR (unit_lot > 1 AND abs(${units} - round(${units})) < 1e-6 * unit_lot) THEN round(${units}) END`;
    const missing = REQUIRED.map((name) => `v.n_${name} IS NULL`).join(" OR ");
    const earliest = isMinute ? `v.instant >= ${EARLIEST_MS}` : "v.day >= DATE '1900-01-01'";
    const ends = possibleEnds(this.#now, isMinute);
    const isFutureFrom = perRegion("v.region", ({ region }) => String(ends[region]));
    const join = isMinute ? `JOIN ${this.#files.name} f ON f.file = v.file` : "";
    const file = isMinute ? "f." : "v.";
    return `(SELECT *, coalesce(symbol IS NULL OR day IS NULL OR ${isMinute ? "instant" : "midnight"} IS NULL OR odd IS NOT NULL OR is_missing OR shares IS NULL
          OR is_future OR NOT is_possible${isMinute ? ` OR ${HAS_OWN_SESSIONS}` : ""}, true) AS is_bad
      FROM (SELECT *, CASE WHEN v_volume < ${EXACT} THEN ${shares.replaceAll("v.n_volume", "v_volume")} END AS shares
        FROM (SELECT v.*, v.n_volume AS v_volume, ${isMinute ? "f.path, f.first_line, f.first_row, f.shift_ms, f.amount_factor," : ""}
            ${unit.replaceAll("f.", file)} AS unit_lot, (${missing}) AS is_missing, ${instant} >= ${isFutureFrom} AS is_future, ${earliest} AS is_possible
          FROM ${rows} v ${join} LEFT JOIN ${this.#lots.name} l ON l.symbol = v.symbol
          WHERE NOT ${file}is_refused)))`;
  }

  /** Rows of days with the rule of their file, which decides on the date of an instant. */
  #timedByFile(): string {
    const inner = this.#timed("f.own_dates").replace(
      `FROM ${this.#raw.name} r `,
      `, f.path, f.first_line, f.first_row, f.amount_factor, f.in_lots, f.volume_factor, f.is_refused FROM ${this.#raw.name} r JOIN ${this.#files.name} f ON f.file = r.file `,
    );
    return inner;
  }
}

const FILE_TYPES: Readonly<Record<string, string>> = {
  file: "INTEGER",
  path: "VARCHAR",
  first_row: "BIGINT",
  first_line: "BIGINT",
  is_refused: "BOOLEAN",
  own_dates: "BOOLEAN",
  shift_ms: "BIGINT",
  volume_factor: "DOUBLE",
  in_lots: "BOOLEAN",
  amount_factor: "DOUBLE",
};
const FILE_COLUMNS = Object.entries(FILE_TYPES)
  .map(([name, type]) => `${name} ${type}`)
  .join(", ");
