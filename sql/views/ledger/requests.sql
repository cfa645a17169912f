-- The ledger of the requests to a service.
-- Grain: one row for each request. Inputs: raw.requests.
CREATE OR REPLACE VIEW requests AS
SELECT * FROM raw.requests;

COMMENT ON VIEW requests IS 'Everything that was asked of a service, and what came back. One row for each request.';
