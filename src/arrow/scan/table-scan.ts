import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBType } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { DuckDBTableFunction, INTEGER } from "../duckdb-api.js";
import { VECTOR_ROWS } from "./vector-copy.js";

/** Writes the rows from `from` to `from + rows` of one column into a DuckDB vector. */
export type Fill = (target: duckdb.Vector, from: number, rows: number) => void;

/** One column of a table in memory that DuckDB scans. */
export interface ScanColumn {
  readonly name: string;
  readonly type: DuckDBType;
  readonly fill: Fill;
  /** Of a column of doubles: whether all of them are finite and none has a sign. @default it is not known */
  readonly hasOrderedBits?: () => boolean;
}

/** Rows in JavaScript's buffers that SQL can read. */
export interface ScanSource {
  readonly rows: number;
  readonly columns: readonly ScanColumn[];
  /** Consecutive rows that one of DuckDB's threads takes at a time. @default {@link VECTOR_ROWS} */
  readonly rowsAtATime?: number;
}

/** A source that SQL can read now. */
export interface Scan {
  /** The call of the table function, for use after FROM. */
  readonly sql: string;
  /** Ends the scan: the buffers may be reused. */
  release(): void;
}

/** The scan of a query: the columns that it needs, in its order, and the first row that no thread has taken. */
interface Cursor {
  readonly source: ScanSource;
  readonly fills: readonly Fill[];
  next: number;
}

/** The rows that a thread has taken: from `next` to `end`, exclusive. */
interface Share {
  next: number;
  end: number;
}

/** Most threads of one query: they get their rows here one at a time, and do the rest of the query in parallel. */
const MAX_THREADS = 16;

export interface TableScans {
  /** Makes a source readable; its buffers must not change until it is released. */
  add(source: ScanSource): Scan;
}

const ofDatabases = new WeakMap<DuckDBInstance, TableScans>();

/** Gives a database the table function `batch_scan(id)`, unless it has it. All its connections have the same sources. */
export function tableScansOf(instance: DuckDBInstance, connection: DuckDBConnection): TableScans {
  const known = ofDatabases.get(instance);
  if (known !== undefined) return known;
  const scans = registerTableScan(connection);
  ofDatabases.set(instance, scans);
  return scans;
}

function registerTableScan(connection: DuckDBConnection): TableScans {
  const sources = new Map<number, ScanSource>();
  let lastId = 0;
  connection.registerTableFunction(
    DuckDBTableFunction.create({
      name: "batch_scan",
      parameterTypes: [INTEGER],
      bindFunction: (bind) => {
        const id = Number(bind.getParameter(0));
        const source = sources.get(id);
        if (source === undefined)
          return bind.setError(`batch_scan(${id}): no such batch, or it was released`);
        for (const { name, type } of source.columns) bind.addResultColumn(name, type);
        bind.setCardinality(source.rows, true);
        bind.setBindData(source);
      },
      initFunction: (init) => {
        init.setMaxThreads(MAX_THREADS);
        init.setInitData(cursorOf(init.bindData as ScanSource, init.getColumnIndexes()));
      },
      localInitFunction: (init) => init.setInitData({ next: 0, end: 0 } satisfies Share),
      mainFunction: (info, chunk) => fillChunk(info.initData as Cursor, info.localInitData as Share, chunk),
      supportsProjectionPushdown: true,
    }),
  );
  return {
    add(source) {
      const id = ++lastId;
      sources.set(id, source);
      return { sql: `batch_scan(${id})`, release: () => void sources.delete(id) };
    },
  };
}

function cursorOf(source: ScanSource, indexes: readonly number[]): Cursor {
  return { source, fills: indexes.map((index) => source.columns[index]?.fill ?? noColumn), next: 0 };
}

function fillChunk(cursor: Cursor, share: Share, chunk: DuckDBDataChunk): void {
  if (share.next === share.end) takeShare(cursor, share);
  const from = share.next;
  const rows = Math.min(VECTOR_ROWS, share.end - from);
  chunk.rowCount = rows;
  if (rows === 0) return;
  share.next += rows;
  const { fills } = cursor;
  for (let i = 0; i < fills.length; i++) {
    (fills[i] as Fill)(duckdb.data_chunk_get_vector(chunk.chunk, i), from, rows);
  }
}

function takeShare(cursor: Cursor, share: Share): void {
  const { rows, rowsAtATime = VECTOR_ROWS } = cursor.source;
  share.next = cursor.next;
  share.end = Math.min(rows, share.next + rowsAtATime);
  cursor.next = share.end;
}

/** A query that only counts rows reads a column that does not exist. */
const noColumn: Fill = () => {};
