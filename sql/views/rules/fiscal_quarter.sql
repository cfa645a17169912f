-- The quarter of the fiscal year at whose end a reporting period ends, as a flow that cumulates over the year shows it; null
-- where it does not. Reports of mainland China cumulate from 1 January, as the law requires. Elsewhere a flow that
-- cumulates falls once in five quarters, where a year begins; four that rise are a year. As flows of quarters alone may
-- do the same by chance, the quarters that follow must be nearer each other than the values are, by a half of the ratio.
-- Of half-yearly reports three half-years must be known.
-- Grain: one value for each period. Inputs: a flow of the period and of those 3, 6, 9 and 12 months before it.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO fiscal_quarter(region, month, flow, ago3, ago6, ago9, ago12) AS
  CASE
    WHEN region = 'CN' THEN CASE
      WHEN month(month) % 3 = 0 THEN CAST(month(month) // 3 AS INTEGER)
    END
    WHEN flow > 0 AND ago3 > 0 AND ago6 > 0 AND ago9 > 0 AND coalesce(ago12, flow) > 0 AND CAST(flow < ago3 AS INTEGER) + CAST(ago3 < ago6 AS INTEGER) + CAST(ago6 < ago9 AS INTEGER) + CAST(ago9 < coalesce(ago12, flow) AS INTEGER) = 1 AND 1.5 * greatest(CASE
      WHEN flow < ago3 THEN flow
      ELSE flow - ago3
    END, CASE
      WHEN ago3 < ago6 THEN ago3
      ELSE ago3 - ago6
    END, CASE
      WHEN ago6 < ago9 THEN ago6
      ELSE ago6 - ago9
    END, CASE
      WHEN ago9 < coalesce(ago12, flow) THEN ago9
      ELSE ago9 - coalesce(ago12, flow)
    END) * least(flow, ago3, ago6, ago9, coalesce(ago12, flow)) < least(CASE
      WHEN flow < ago3 THEN flow
      ELSE flow - ago3
    END, CASE
      WHEN ago3 < ago6 THEN ago3
      ELSE ago3 - ago6
    END, CASE
      WHEN ago6 < ago9 THEN ago6
      ELSE ago6 - ago9
    END, CASE
      WHEN ago9 < coalesce(ago12, flow) THEN ago9
      ELSE ago9 - coalesce(ago12, flow)
    END) * greatest(flow, ago3, ago6, ago9, coalesce(ago12, flow)) THEN CASE
      WHEN flow < ago3 THEN 1
      WHEN ago3 < ago6 THEN 2
      WHEN ago6 < ago9 THEN 3
      ELSE 4
    END
    WHEN ago3 IS NULL AND ago9 IS NULL AND flow > 0 AND ago6 > 0 AND ago12 > 0 AND CAST(flow < ago6 AS INTEGER) + CAST(ago6 < ago12 AS INTEGER) = 1 AND 1.25 * greatest(CASE
      WHEN flow < ago6 THEN flow
      ELSE flow - ago6
    END, CASE
      WHEN ago6 < ago12 THEN ago6
      ELSE ago6 - ago12
    END) * least(flow, ago6, ago12) < least(CASE
      WHEN flow < ago6 THEN flow
      ELSE flow - ago6
    END, CASE
      WHEN ago6 < ago12 THEN ago6
      ELSE ago6 - ago12
    END) * greatest(flow, ago6, ago12) THEN CASE
      WHEN flow < ago6 THEN 2
      ELSE 4
    END
  END;

COMMENT ON MACRO fiscal_quarter IS 'Quarter of the fiscal year at whose end a period ends, 1 to 4; null where its flows do not show it.
region: Region: CN, HK or US.
month: Month end that the period belongs to. [date]
flow: A flow of the period that is never negative, such as its revenue, from the start of the fiscal year.
ago3: The same of the period 3 months before; null where it is not known.
ago6: The same, 6 months before.
ago9: The same, 9 months before.
ago12: The same, 12 months before.';
