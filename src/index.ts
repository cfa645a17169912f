/*
 * The public interface, by task. A record's fields, units and errors are documented where it is declared. Most programs
 * need the first two parts alone: docs/library.md.
 */

// A service: a method for each endpoint of the interface, whole K-lines as Arrow tables.

export type { TimeInput } from "./api/inputs.js";
export type { AskOptions, RecordTable } from "./api/service/ask-records.js";
export type { MarketService } from "./api/service/connect.js";
export { type ConnectOptions, connect } from "./api/service/connect.js";
export type { KlineOptions } from "./api/service/kline-request.js";
export { IncompleteError, type KlineReport, type OpenWindow } from "./api/service/kline-request.js";
export type {
  IntradayOptions,
  KlineRow,
  KlineStream,
  Klines,
  KlineTable,
} from "./api/service/kline-table.js";
export type {
  AskStatements,
  ExFactor,
  ExFactorOptions,
  Financials,
  InstrumentType,
  Statement,
  StatementOptions,
} from "./api/service/records.js";
export type { RunAccess } from "./api/service/service-access.js";
export { type Row, RowTable } from "./arrow/row-table.js";
export type {
  ExchangeSummary,
  Instrument,
  ReceivedQuote,
  StatementRecord,
  SymbolRecord,
  UniverseDetail,
  UniverseSummary,
} from "./wire/resources.js";

// A lake: query, read, fill, serve, and datasets of it.

export type { TableFilter } from "./api/lake/lake-queries.js";
export type { LakeDataset, LakeServer, ServeOptions } from "./api/lake/open-lake.js";
export {
  type LakeConnection,
  type LakeRunOptions,
  type OpenLakeOptions,
  openLake,
  type PipelineSource,
  type QueryOptions,
  type ReadOptions,
} from "./api/lake/open-lake.js";
export type { LakeState, WarmReaderOptions } from "./api/lake/warm-readers.js";
export type { QueryValue, QueryValues } from "./db/session/named-values.js";

// Errors: every error that is thrown on purpose is a BarlakeError, with a hint what to do next.

export * from "./core/errors.js";

// The tables of a lake, and their versions.

export type { Clock, TimeRange, TradingDate } from "./core/time.js";
export type { StorePatience } from "./db/session/store-access.js";
export type { ParquetFiles, PartitionValues } from "./db/views/parquet-relation.js";
export { Lake, type LakeOptions, type PointInTime, type UserViews } from "./lake/lake.js";
export type { LakePlaces, WorkFolder } from "./lake/local/work-folder.js";
export type { FileStats, MetaData, Protocol, RemoveFile, Txn } from "./lake/log/delta-actions.js";
export type { DataFile, Snapshot } from "./lake/log/snapshot.js";
export type { SegmentOptions } from "./lake/places.js";
export type { SegmentPlace } from "./lake/segments/segment-folder.js";
export type { BuiltSegments } from "./lake/segments/segment-reader.js";
export type { ByteRange, FileFacts, Storage, StoredFile } from "./lake/storage/storage.js";
export type { LeaseRecord, LeaseState, LeaseStore } from "./lease/lease-store.js";
export type { Adjustment, Period } from "./market/period.js";
export type { Region } from "./market/regions.js";
export type { Environment } from "./object-store/access/credential-source.js";
export type { Column, ColumnType, PartitionSpan, TableSchema } from "./schema/column.js";
export { TABLES } from "./schema/tables.js";

// A session of a lake: SQL over its views, as rows or as Arrow's record batches.

export { batchesToIpc, type IpcFormat } from "./arrow/batches-ipc.js";
export type { Fill, Scan, ScanColumn, ScanSource } from "./arrow/scan/table-scan.js";
export type { StatementProgress } from "./db/query-engine.js";
export type { ReadCheck } from "./db/reads/checked-reads.js";
export type { FileRead } from "./db/reads/file-reads.js";
export type { ResultCopy } from "./db/result/read-result.js";
export type { PlainValue, ResultColumn as ReaderColumn, RowReader } from "./db/result/row-reader.js";
export type { ResultColumn, ResultValue, StatementResult, ValueKind } from "./db/result/statement-result.js";
export type { NamedValues, TypedValue } from "./db/session/named-values.js";
export type { SessionOptions } from "./db/session/open-database.js";
export { type Bindings, Session } from "./db/session/session.js";
export type { StoreAccess, StoreSecret } from "./db/session/store-access.js";
export type { ReadableTables, RefusedTable } from "./lake/lake-views.js";
export {
  type ArrowQueryOptions,
  openReader,
  queryArrow,
  type Reader,
  type ReaderOptions,
} from "./lake/open-reader.js";
export { publish } from "./lake/publish.js";

// Fill a lake from a service: define a pipeline, run it, read its report.

export type { Taken } from "./client/key/key-shares.js";
export type { ResponseLimits } from "./client/response-limits.js";
export {
  type Ask,
  type ByGroup,
  type KeyRight,
  type LearnedRate,
  type ReadBody,
  type ReadResponse,
  ServiceClient,
  type ServiceClientOptions,
} from "./client/service-client.js";
export { systemClock } from "./client/system-clock.js";
export type { FilesReport, RefusedFileReport } from "./jobs/files/plan-files.js";
export { type FilesPlan, type PlannedFile, planFiles } from "./jobs/files/plan-files.js";
export type { KnownList } from "./jobs/ledger/known-lists.js";
export type { GoneBars } from "./jobs/ledger/recent-windows.js";
export {
  definePipeline,
  type Pipeline,
  type PipelineDefinition,
  type Quota,
} from "./jobs/pipeline/definition.js";
export { loadPipeline } from "./jobs/pipeline/load-pipeline.js";
export type {
  AbsentSessions,
  Returned,
  RunList,
  SessionReason,
  SetAsideBars,
  TableCompleteness,
  UnexplainedWindow,
} from "./jobs/run/report/completeness.js";
export type { Progress, TableProgress } from "./jobs/run/report/run-progress.js";
export type { Failure } from "./jobs/run/request/request-records.js";
export type { RequestCounts } from "./jobs/run/run-log.js";
export {
  type PlannedRequest,
  planPipeline,
  type RunEnvironment,
  type RunOptions,
  type RunReport,
  runPipeline,
} from "./jobs/run/run-pipeline.js";
export type { RowChange } from "./lake/land/changes.js";
export type { ReferenceChange } from "./lake/land/land-versions.js";
export type { RejectCount } from "./lake/land/rejects.js";
export type { LandReport } from "./lake/land/upsert.js";
export type { FreeBytes } from "./lake/local/free-space.js";
export type { KnownLimits, LimitsStore, ServiceLimits } from "./lake/requests/service-limits.js";
export type { QuotaState } from "./plan/quota/rate.js";
export type { RequestUnit } from "./plan/request-units.js";
export type { AbsenceReason, RunStatus } from "./schema/runs.js";
export {
  ENDPOINTS,
  type Endpoint,
  type EndpointGroup,
  type EndpointName,
  type PermissionCode,
} from "./wire/endpoints.js";

// Serve a lake.

export type { RequestQuota } from "./serve/http/request-quota.js";
export { type Service, type ServiceOptions, startService } from "./serve/http/service.js";
export type { ServiceLogger } from "./serve/http/service-metrics.js";
export { type Caller, type KeyRing, plainKeys } from "./serve/keys/key-ring.js";
export type { Replay } from "./serve/replay/add-replay.js";
export type { ReplayClock, ReplayState } from "./serve/replay/replay-clock.js";

// Copy a lake.

export {
  type CopyOptions,
  type CopyProgress,
  type CopyReport,
  copyLake,
} from "./lake/maintenance/copy-lake.js";

// Restore a lake: its tables as they were.

export {
  type RestoredLake,
  type RestoreLakeOptions,
  restoreLake,
} from "./jobs/maintenance/restore-lake.js";
export type { HistoryEntry } from "./lake/log/history.js";
export type {
  RelatedChange,
  RelatedChanges,
  RestoreReport,
  RestoreTarget,
} from "./lake/maintenance/restore-table.js";

// Fill a lake from files.

export type { ImportOptions } from "./jobs/import/import-options.js";
export {
  type ImportReport,
  type ImportTable,
  runImport,
  UnfinishedImport,
} from "./jobs/import/run-import.js";

// Datasets for backtests: panels of symbols by days or minutes.

export {
  type BuildOptions,
  type BuildProgress,
  type BuildReport,
  buildDataset,
} from "./dataset/build-dataset.js";
export type { BatchRows, RowStretch } from "./dataset/dataset.js";
export { type Dataset, type DatasetColumns, dataset } from "./dataset/dataset.js";
export type { Coverage, CoverageRange, MemberWithGaps, MemberWithoutBars } from "./dataset/panel/coverage.js";
export { type DatasetDefinition, type DatasetSpec, defineDataset } from "./dataset/spec.js";
export type { Manifest } from "./dataset/store/manifest.js";

// K-lines of the service's interface: bytes to columns and back, columns to Arrow.

export { klineBatch } from "./arrow/kline-ipc.js";
export type { Issue, IssueCount, IssueLog, IssueRule } from "./core/issue.js";
export { type DecodedKlines, decodeKlines } from "./wire/decode/decode-klines.js";
export type { GrowingDoubles, GrowingInt64 } from "./wire/decode/growing-column.js";
export type { JsonLimits } from "./wire/decode/json/json-sink.js";
export { KlineBufferPool, type KlineBuffers } from "./wire/decode/kline-buffers.js";
export type { KlineExpectation } from "./wire/decode/kline-sink.js";
export type { DecodedBars } from "./wire/decode/symbol-bars.js";
export { encodeKlines, type KlineShape } from "./wire/encode/encode-klines.js";
export type { DoubleColumn, KlineColumns, NumberColumn } from "./wire/kline-columns.js";
