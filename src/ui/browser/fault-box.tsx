import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import type { RequestStatus, RunStatus } from "../../schema/runs.js";
import type { FaultReport } from "../page-data.js";
import { faultText } from "./fault-texts.js";
import type { Waiting } from "./fetch-data.js";
import { useShownState } from "./lake-state.js";
import { isChinese, text } from "./texts.js";

export function Command({ command }: { readonly command: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(command).then(() => setCopied(true));
  };
  return (
    <span class="command">
      <code>{command}</code>{" "}
      <button type="button" onClick={copy}>
        {text(isCopied ? "copied" : "copy")}
      </button>
    </span>
  );
}

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

export function statusText(status: RunStatus | RequestStatus): string {
  return isChinese ? CHINESE[status] : status;
}

export function StatusSign({ status }: { readonly status: RunStatus }) {
  return <span class={`status ${status}`}>{statusText(status)}</span>;
}

export function FaultBox({ fault: { message, hint } }: { readonly fault: FaultReport }) {
  return (
    <div class="fault" role="alert">
      <pre>{faultText(message)}</pre>
      {hint !== null && <p>{faultText(hint)}</p>}
    </div>
  );
}

/** What a request has given; until then an empty place of its height in pixels, so that nothing moves, or its fault. */
export function Loaded<T>({
  waiting: { value, fault },
  height,
  children,
}: {
  readonly waiting: Waiting<T>;
  readonly height: number;
  readonly children: (value: T) => ComponentChild;
}) {
  if (fault !== undefined) return <FaultBox fault={fault} />;
  if (value === undefined) return <div class="hollow" style={`height:${height}px`} aria-busy="true" />;
  return <>{children(value)}</>;
}

/** Why data is missing, and the command that adds it. @param next the command without the option for the lake */
export function Missing({ why, next }: { readonly why: string; readonly next?: string | undefined }) {
  const { report } = useShownState();
  return (
    <p class="empty">
      {why}
      {next !== undefined && (
        <>
          {" "}
          {text("brings")} <code>{`${next} --lake ${report?.lakeWord ?? ""}`}</code>
        </>
      )}
    </p>
  );
}
