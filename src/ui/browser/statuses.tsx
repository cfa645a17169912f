import type { RequestStatus } from "../../schema/requests.js";
import type { RunStatus } from "../../schema/runs.js";
import { isChinese } from "./texts.js";

/** How runs and requests end, in Chinese. */
const CHINESE: Readonly<Record<RunStatus | RequestStatus, string>> = {
  complete: "完整",
  partial: "部分",
  refused: "被拒绝",
  failed: "失败",
  interrupted: "中断",
  killed: "被终止",
  answered: "已答复",
  empty: "无数据",
  lost: "丢失",
};

/** How a run or a request has ended, in the language of the browser. */
export function statusText(status: RunStatus | RequestStatus): string {
  return isChinese ? CHINESE[status] : status;
}

/** The status of a run, with its colour. */
export function StatusSign({ status }: { readonly status: RunStatus }) {
  return <span class={`status ${status}`}>{statusText(status)}</span>;
}
