-- The ledger of what was asked of a service.
-- Grain: one row a request. Inputs: raw.requests.
CREATE OR REPLACE VIEW requests AS
SELECT * FROM raw.requests;

COMMENT ON VIEW requests IS 'Everything that was asked of a service, and what came back. One row a request.';
